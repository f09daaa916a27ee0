#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dispatch_hook/spin_lock.h"
#include "store/event_buffer.h"

namespace ulpscope {

class Session;
struct OpFrame;
struct SchemaCache;

/// A region that the thread is in. The slot (and its strings' memory) is reused.
struct OpenRegion {
  RegionKind kind = RegionKind::scope;
  bool written = false;
  bool ended = false;  ///< an autograd node that has returned
  uint32_t forwardThread = 0;
  int64_t sequence = -1;
  RegionId id;
  const void* key = nullptr;  ///< who opened it; popped by the same key
  /// Set where the region may be closed from another thread (an asynchronous record_function).
  std::shared_ptr<std::atomic<bool>> closed;
  std::string name;
  std::string detail;
};

/// What the recorder keeps for one thread. Only `buffer` (under `lock`) is touched by others.
struct ThreadState {
  ThreadState();
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  SpinLock lock;
  EventBuffer buffer;  ///< guarded by `lock`

  std::atomic<Session*> session{nullptr};  ///< the recording that the rest below belongs to
  uint32_t number = 0;         ///< small number in order of first appearance
  int paused = 0;
  bool busy = false;  ///< inside the recorder's own code: ops from there are not the program's
  size_t depth = 0;   ///< open frames
  std::vector<std::unique_ptr<OpFrame>> frames;

  size_t regionDepth = 0;
  int optimizerRegions = 0;
  int forwardRegions = 0;  ///< modules and compiled regions
  std::vector<OpenRegion> regions;

  std::shared_ptr<SchemaCache> schemas;
  std::unordered_map<std::string, StringId> strings;  ///< interned in `session`
  std::unordered_map<uint64_t, uint32_t> threads;     ///< torch's thread id -> small number

  /// Forgets everything of an earlier recording and joins `to`.
  void join(Session& to, uint64_t torchThread);

  OpenRegion& push(RegionKind kind, std::string_view name, std::string_view detail,
                   int64_t sequence, const void* key);
  /// Closes the innermost region of this key and what is still open inside it; nothing where it is
  /// not open on this thread.
  void pop(const void* key);
  /// An autograd node has returned. The engine still works for it (it reduces and adds up its
  /// gradients), so ops belong to it until something else begins or backward is over.
  void endNode(const void* key);
  void leaveEndedNode() {
    while (regionDepth != 0 && regions[regionDepth - 1].ended) --regionDepth;
  }
  /// Writes the open regions that no op has been in yet; gives the innermost one.
  RegionId enter(OpId first, int32_t step);
  /// The innermost autograd region, or null.
  const OpenRegion* backwardNode() const;

 private:
  void count(const OpenRegion& region, int by);
};

/// The calling thread's state, created at the first call; null while the thread is being torn down.
ThreadState* threadState() noexcept;

/// The same, made part of the recording. Null as above, or where that fails.
ThreadState* joinedThread(Session& session) noexcept;

/// Marks the recorder's own code on this thread.
class Busy {
 public:
  explicit Busy(ThreadState& state) : state_(state), before_(state.busy) { state_.busy = true; }
  ~Busy() { state_.busy = before_; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ThreadState& state_;
  bool before_;
};

}  // namespace ulpscope
