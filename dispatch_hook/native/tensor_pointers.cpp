#include "dispatch_hook/native/tensor_pointers.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace ulpscope::native {

namespace {

void hold(c10::TensorImpl* tensor) { c10::raw::weak_intrusive_ptr::incref(tensor); }
void letGo(c10::TensorImpl* tensor) { c10::raw::weak_intrusive_ptr::decref(tensor); }
bool isGone(c10::TensorImpl* tensor) {
  return c10::raw::weak_intrusive_ptr::use_count(tensor) == 0;
}

/// All tensors whose pointers were asked for, by pointer, in the order of asking.
class Known {
 public:
  std::mutex& mutex() { return mutex_; }
  void add(const void* data, c10::TensorImpl* tensor) {
    const std::lock_guard guard(mutex_);
    std::vector<c10::TensorImpl*>& here = tensors_[data];
    std::erase_if(here, [](c10::TensorImpl* each) {
      if (!isGone(each)) return false;
      letGo(each);
      return true;
    });
    for (c10::TensorImpl* each : here) {
      if (each == tensor) return;
    }
    hold(tensor);
    here.push_back(tensor);
    if (++added_ >= sweepAt_) sweep();
  }
  c10::TensorImpl* find(const void* data) {
    const std::lock_guard guard(mutex_);
    const auto found = tensors_.find(data);
    if (found == tensors_.end()) return nullptr;
    for (c10::TensorImpl* each : found->second) {
      if (!isGone(each)) return each;
    }
    return nullptr;
  }

 private:
  // Temporaries die at once and would keep their entries.
  void sweep() {
    size_t kept = 0;
    for (auto at = tensors_.begin(); at != tensors_.end();) {
      std::erase_if(at->second, [](c10::TensorImpl* each) {
        if (!isGone(each)) return false;
        letGo(each);
        return true;
      });
      kept += at->second.size();
      at = at->second.empty() ? tensors_.erase(at) : std::next(at);
    }
    added_ = 0;
    sweepAt_ = kept + 256;
  }

  std::mutex mutex_;
  std::unordered_map<const void*, std::vector<c10::TensorImpl*>> tensors_;
  size_t added_ = 0, sweepAt_ = 256;
};

Known& known() {
  static Known* const instance = [] {
    static auto* const made = new Known;  // threads may outlive static destruction
    pthread_atfork([] { made->mutex().lock(); }, [] { made->mutex().unlock(); },
                   [] { made->mutex().unlock(); });
    return made;
  }();
  return *instance;
}

struct Recent {
  const void* data = nullptr;
  c10::TensorImpl* tensor = nullptr;  // held weakly
};

/// What this thread asked for since its last call, the last ones where it is much.
class RecentPointers {
 public:
  ~RecentPointers() { forget(); }
  void add(const void* data, c10::TensorImpl* tensor) {
    Recent& entry = entries_[next_++ % entries_.size()];
    if (entry.tensor != nullptr) letGo(entry.tensor);
    hold(tensor);
    entry = {data, tensor};
  }
  c10::TensorImpl* find(const void* data) const {
    const size_t kept = std::min(next_, entries_.size());
    for (size_t i = 1; i <= kept; ++i) {
      const Recent& entry = entries_[(next_ - i) % entries_.size()];
      if (entry.data == data && !isGone(entry.tensor)) return entry.tensor;
    }
    return nullptr;
  }
  void forget() {
    const size_t kept = std::min(next_, entries_.size());
    for (size_t i = 0; i < kept; ++i) {
      letGo(entries_[i].tensor);
      entries_[i] = {};
    }
    next_ = 0;
  }

 private:
  std::array<Recent, 256> entries_;
  size_t next_ = 0;
};

/// Behind a pointer, for the library's thread-local memory comes out of a small reserve. Null where
/// there is no memory.
RecentPointers* recentPointers() noexcept {
  thread_local std::unique_ptr<RecentPointers> recent(new (std::nothrow) RecentPointers);
  return recent.get();
}

}  // namespace

void noteDataPointer(const void* data, c10::TensorImpl* tensor) noexcept {
  if (data == nullptr || tensor == nullptr) return;
  if (RecentPointers* recent = recentPointers()) recent->add(data, tensor);
  try {
    known().add(data, tensor);
  } catch (...) {  // out of memory: an operand less
  }
}

c10::TensorImpl* tensorAt(const void* data) noexcept {
  RecentPointers* const recent = recentPointers();
  c10::TensorImpl* tensor = recent == nullptr ? nullptr : recent->find(data);
  return tensor != nullptr ? tensor : known().find(data);
}

void forgetRecentPointers() noexcept {
  if (RecentPointers* recent = recentPointers()) recent->forget();
}

}  // namespace ulpscope::native
