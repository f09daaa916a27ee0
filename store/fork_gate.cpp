#include "store/fork_gate.h"

#include <pthread.h>

#include <atomic>

namespace ulpscope {
namespace {

std::atomic<uint64_t> forks{0};

// Never destroyed: a program may fork while static objects go away.
std::mutex& gate() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

}  // namespace

std::unique_lock<std::mutex> enterForkGate() {
  return std::unique_lock(gate());
}

void installForkGate() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork([] { gate().lock(); }, [] { gate().unlock(); },
                   [] {
                     forks.fetch_add(1, std::memory_order_relaxed);
                     gate().unlock();
                   });
  });
}

uint64_t forkCount() {
  return forks.load(std::memory_order_relaxed);
}

}  // namespace ulpscope
