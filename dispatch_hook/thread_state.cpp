#include "dispatch_hook/thread_state.h"

#include <algorithm>
#include <mutex>

#include "dispatch_hook/op_frame.h"
#include "dispatch_hook/session.h"

namespace ulpscope {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ThreadState*> threads;
};

// Never destroyed: threads may end after static destruction has begun.
Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

// A plain pointer, so that the hot path reads it without an initialisation check. initial-exec fits
// into the reserve that the loader keeps for libraries opened at run time.
__attribute__((tls_model("initial-exec"))) thread_local ThreadState* tlsState = nullptr;
__attribute__((tls_model("initial-exec"))) thread_local bool tlsGone = false;

struct Owner {
  ~Owner() {
    delete tlsState;
    tlsState = nullptr;
    tlsGone = true;
  }
};

ThreadState* create() noexcept {
  if (tlsGone) return nullptr;
  try {
    static thread_local Owner owner;
    (void)owner;
    tlsState = new ThreadState;
    return tlsState;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

ThreadState* threadState() noexcept { return tlsState != nullptr ? tlsState : create(); }

void forEachThread(void (*visit)(ThreadState&, void*), void* context) {
  const std::lock_guard guard(registry().mutex);
  for (ThreadState* thread : registry().threads) visit(*thread, context);
}
void lockThreads() { registry().mutex.lock(); }
void unlockThreads() { registry().mutex.unlock(); }

ThreadState::ThreadState() {
  const std::lock_guard guard(registry().mutex);
  registry().threads.push_back(this);
}

ThreadState::~ThreadState() {
  {
    const std::lock_guard guard(registry().mutex);
    std::erase(registry().threads, this);
  }
  Session* on = current();
  if (on != nullptr && on == session) on->drain(*this);
}

void ThreadState::join(Session& to, uint64_t torchThread) {
  {
    const std::lock_guard guard(lock);
    buffer.clear();
  }
  depth = 0;
  regionDepth = 0;
  optimizerRegions = 0;
  forwardRegions = 0;
  strings.clear();
  threads.clear();
  number = to.addThread(torchThread);
  session.store(&to, std::memory_order_release);
}

void ThreadState::count(const OpenRegion& region, int by) {
  if (region.kind == RegionKind::optimizer) optimizerRegions += by;
  if (region.kind == RegionKind::module || region.kind == RegionKind::compiled) {
    forwardRegions += by;
  }
}

OpenRegion& ThreadState::push(RegionKind kind, std::string_view name, std::string_view detail,
                              int64_t sequence, const void* key) {
  leaveEndedNode();
  if (regionDepth == regions.size()) regions.emplace_back();
  OpenRegion& region = regions[regionDepth];
  region.kind = kind;
  region.written = false;
  region.ended = false;
  region.forwardThread = 0;
  region.sequence = sequence;
  region.id = {};
  region.key = key;
  region.closed.reset();
  region.name.assign(name);
  region.detail.assign(detail);
  ++regionDepth;
  count(region, 1);
  return region;
}

void ThreadState::pop(const void* key) {
  leaveEndedNode();
  size_t at = regionDepth;
  while (at != 0 && regions[at - 1].key != key) --at;
  if (at == 0) return;
  // Asynchronous regions inside that are still open stay; all others ended with this one.
  size_t kept = at - 1;
  for (size_t i = at - 1; i < regionDepth; ++i) {
    const bool stays = i != at - 1 && regions[i].closed != nullptr && !*regions[i].closed;
    if (!stays) {
      count(regions[i], -1);
    } else {
      if (kept != i) std::swap(regions[kept], regions[i]);
      ++kept;
    }
  }
  regionDepth = kept;
}

void ThreadState::endNode(const void* key) {
  leaveEndedNode();
  if (regionDepth != 0 && regions[regionDepth - 1].key == key) {
    regions[regionDepth - 1].ended = true;
    regions[regionDepth - 1].key = nullptr;
  } else {
    pop(key);
  }
}

RegionId ThreadState::enter(OpId first, int32_t step) {
  while (regionDepth != 0 && regions[regionDepth - 1].closed != nullptr &&
         *regions[regionDepth - 1].closed) {
    count(regions[--regionDepth], -1);
  }
  if (regionDepth == 0) return {};
  if (!regions[regionDepth - 1].written) {
    RegionId parent;
    for (size_t i = 0; i < regionDepth; ++i) {
      OpenRegion& region = regions[i];
      if (!region.written) {
        Session& on = *session.load(std::memory_order_relaxed);
        Writer* writer = on.writer();
        if (writer == nullptr) return {};
        auto intern = [&](const std::string& text) {
          if (text.empty()) return StringId{};
          auto [found, fresh] = strings.try_emplace(text);
          if (fresh) found->second = writer->string(text);
          return found->second;
        };
        region.id = on.startRegion();
        region.written = true;
        on.append(*this, RawRegion{.id = region.id,
                                         .parent = parent,
                                         .kind = region.kind,
                                         .thread = number,
                                         .step = step,
                                         .begin = first,
                                         .sequence = region.sequence,
                                         .name = intern(region.name),
                                         .detail = intern(region.detail)});
      }
      parent = region.id;
    }
  }
  return regions[regionDepth - 1].id;
}

const OpenRegion* ThreadState::backwardNode() const {
  for (size_t i = regionDepth; i != 0; --i) {
    if (regions[i - 1].kind == RegionKind::autograd) return &regions[i - 1];
  }
  return nullptr;
}

}  // namespace ulpscope
