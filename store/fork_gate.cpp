#include "store/fork_gate.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <new>

namespace ulpscope {
namespace {

constexpr std::chrono::seconds kPatience{5};

std::atomic<uint64_t> forks{0};

// Never destroyed: a program may fork while static objects go away.
union Gate {
  std::timed_mutex mutex;
  Gate() : mutex() {}
  ~Gate() {}
};
Gate gate;
bool heldByFork = false;  // guarded by the gate

void beforeFork() {
  if (gate.mutex.try_lock_for(kPatience)) heldByFork = true;
}

void afterForkInParent() {
  if (!heldByFork) return;
  heldByFork = false;
  gate.mutex.unlock();
}

void afterForkInChild() {
  forks.fetch_add(1, std::memory_order_relaxed);
  heldByFork = false;
  new (&gate.mutex) std::timed_mutex;  // whoever held it is not here
}

const bool installed = pthread_atfork(beforeFork, afterForkInParent, afterForkInChild) == 0;

}  // namespace

ForkGate enterForkGate() {
  (void)installed;
  return ForkGate(gate.mutex, kPatience);
}

uint64_t forkCount() {
  return forks.load(std::memory_order_relaxed);
}

}  // namespace ulpscope
