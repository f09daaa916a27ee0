#pragma once

#include <atomic>
#include <thread>

namespace ulpscope {

/// For sections of some tens of instructions that are almost never contended (a thread's own buffer,
/// one shard of a table). Satisfies Lockable.
class SpinLock {
 public:
  void lock() noexcept {
    while (flag_.exchange(true, std::memory_order_acquire)) {
      for (int i = 0; i < 64 && flag_.load(std::memory_order_relaxed); ++i) {
      }
      if (flag_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  bool try_lock() noexcept { return !flag_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> flag_{false};
};

}  // namespace ulpscope
