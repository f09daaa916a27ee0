#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "dispatch_hook/recorder.h"
#include "dispatch_hook/spin_lock.h"
#include "dispatch_hook/thread_state.h"
#include "store/writer.h"

namespace ulpscope {

class StorageTable;
class Follower;
class ValueCapture;

/// One recording. Its memory is never given back, for a thread may be in the middle of an op when it
/// ends; what is large in it is.
class Session {
 public:
  Session(const RecorderOptions& options, uint64_t generation);

  const RecorderOptions options;
  const uint64_t generation;  ///< counts recordings of the process, from 1
  const Level level;
  const bool filtered;  ///< include or exclude is in use

  std::atomic<bool> closed{false};
  std::atomic<int64_t> nextOp{1};
  std::atomic<bool> sawBackward{false};
  StorageTable& storages() { return *storages_; }
  ValueCapture& values() { return *values_; }
  Follower* follower() { return follower_.get(); }  ///< null where no reference is followed
  std::atomic<bool> diverged{false};

  /// The writer; the first call creates the file. Null where it can't be created (said once on
  /// stderr) or the recording is over.
  Writer* writer() noexcept {
    Writer* writer = ready_.load(std::memory_order_acquire);
    return writer != nullptr ? writer : createWriter();
  }
  /// Creates the file unless it is there or the recording is over. Returns "" or one line that says
  /// why it can't be created; the recording is over then.
  std::string open() noexcept;
  Writer* writerIfCreated() noexcept { return ready_.load(std::memory_order_acquire); }

  OpId startOp() noexcept { return OpId{nextOp.fetch_add(1, std::memory_order_relaxed)}; }
  OpId lastOp() const noexcept { return OpId{nextOp.load(std::memory_order_relaxed) - 1}; }
  RegionId startRegion() noexcept {
    return RegionId{nextRegion_.fetch_add(1, std::memory_order_relaxed)};
  }

  /// The step of an op that starts now. `stays`: it begins none, for it belongs to an optimizer step
  /// or only looks at a value.
  int32_t stepOf(bool stays) noexcept {
    if (stepEnded_.load(std::memory_order_relaxed) && !stays &&
        stepEnded_.exchange(false, std::memory_order_relaxed)) {
      return step_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    return step_.load(std::memory_order_relaxed);
  }
  void optimizerStepEnded() noexcept;
  /// An optimizer that announces itself by no scope wrote a parameter. Its step ends where the
  /// program computes with gradients again.
  void updatedWithoutScope() noexcept { scopelessUpdate_.store(true, std::memory_order_relaxed); }
  void gradModeOp() noexcept {
    if (scopelessUpdate_.load(std::memory_order_relaxed) &&
        scopelessUpdate_.exchange(false, std::memory_order_relaxed)) {
      optimizerStepEnded();
    }
  }
  void nextStep() noexcept;
  /// Once a step: writes an event where a setting has changed since the last look.
  void lookAtSettings(int32_t step) noexcept {
    if (step != lookedInStep_.load(std::memory_order_relaxed)) compareSettings(step);
  }
  bool inSteps(int32_t step) const noexcept {
    return step >= options.firstStep && step < options.lastStep;
  }
  bool wanted(std::string_view op) const;  ///< by include and exclude

  uint32_t addThread(uint64_t torchThread);
  uint32_t threadNumber(uint64_t torchThread);

  /// Adds an op and the operands collected for it to the thread's buffer.
  void append(ThreadState& thread, const RawOp& op, std::span<const std::byte> scalars,
              std::span<const std::byte> operands) noexcept;
  void append(ThreadState& thread, const RawRegion& region) noexcept;
  /// Submits what the thread has not submitted yet.
  void drain(ThreadState& thread) noexcept;

  /// Facts that instrumentation gives. Kept until the file exists.
  void environment(std::string_view key, std::string_view value);
  void meta(std::string_view key, std::string_view value);
  void event(std::string_view kind, std::string_view json);
  /// Adds a reason to the fact `kernels`, once.
  void notSeen(std::string_view reason);
  void flush();

  /// Counts a failure of the recorder itself and, the first few times, says it in the trace.
  void failed(const char* where, const char* what) noexcept;

  /// Ends the recording; gives the path written or "". Not `complete`: the program did not come to
  /// its end.
  std::string finish(bool complete = true) noexcept;
  void abandonAfterFork() noexcept;

 private:
  Writer* createWriter() noexcept;
  std::string createFile();
  void collect() noexcept;
  void compareSettings(int32_t step) noexcept;

  std::atomic<Writer*> ready_{nullptr};
  std::atomic<int64_t> nextRegion_{1};
  std::atomic<int32_t> step_{0};
  std::atomic<bool> stepEnded_{false};
  std::atomic<bool> explicitSteps_{false};
  std::atomic<bool> scopelessUpdate_{false};
  std::atomic<int32_t> lookedInStep_{0};
  std::thread::id firstThread_;  ///< some settings are a thread's own; this one is asked
  std::vector<KeyValue> settings_;
  std::atomic<uint64_t> failures_{0};
  std::mutex mutex_;
  struct Early {
    enum class Kind { environment, meta, event } kind;
    std::string first;
    std::string second;
  };
  std::vector<Early> early_;  ///< what was said before the first op
  void tell(Writer& writer, const Early& said);
  void say(Early::Kind kind, std::string_view first, std::string_view second);
  std::vector<std::string> notSeen_;
  std::unordered_map<uint64_t, uint32_t> threads_;
  uint32_t threadCount_ = 0;
  std::unique_ptr<StorageTable> storages_;
  std::unique_ptr<ValueCapture> values_;
  std::unique_ptr<Follower> follower_;
};

/// The recording that is on, or null.
inline std::atomic<Session*> currentSession{nullptr};
inline Session* current() noexcept { return currentSession.load(std::memory_order_acquire); }

/// All threads that have a state. For the recorder's own bookkeeping.
void forEachThread(void (*visit)(ThreadState&, void*), void* context);
void lockThreads();
void unlockThreads();

// Set by the observer and by the environment reader, the parts that know torch.
void installObserver();
void removeObserver() noexcept;
void recordEnvironment(Writer& writer);
/// The part of the environment that a program may change while it runs, as this thread sees it.
std::vector<KeyValue> changeableSettings();

}  // namespace ulpscope
