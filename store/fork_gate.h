#pragma once

#include <cstdint>
#include <mutex>

namespace ulpscope {

/// Held while a writer's thread is inside SQLite. fork() waits for it, so that a child never
/// inherits SQLite's own locks in a locked state and can write a trace of its own.
std::unique_lock<std::mutex> enterForkGate();

/// Hooks the gate into fork(); once a process, before the first writer's thread starts.
void installForkGate();

/// How many forks lie between the process that installed the gate and this one.
uint64_t forkCount();

}  // namespace ulpscope
