#pragma once

#include <cstdint>
#include <mutex>

namespace ulpscope {

/// Held while a writer's thread is inside SQLite. fork() waits for it, so that a child does not
/// inherit SQLite's own locks in a locked state and can write a trace of its own.
///
/// Who holds it takes no other lock, and its fork handlers are installed when the library is
/// loaded: before those of whoever uses a Writer, and so inside their locks. Should another
/// library's locks make a circle all the same, both sides give up waiting after some seconds: the
/// fork then goes on while the writer writes, as it would without the gate.
using ForkGate = std::unique_lock<std::timed_mutex>;
ForkGate enterForkGate();

/// How many forks lie between the first process that loaded this and the calling one.
uint64_t forkCount();

}  // namespace ulpscope
