#include "store/writer.h"

#include <pthread.h>
#include <signal.h>

#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "store/batch_encoder.h"
#include "store/fork_gate.h"
#include "store/interner.h"
#include "store/trace_file.h"

namespace ulpscope {
namespace {

using Clock = std::chrono::steady_clock;

// The writer's thread wakes up for this much; less waits for the timed commit.
constexpr size_t kWakeBytes = size_t{1} << 20;
// Raw events in one transaction.
constexpr size_t kTransactionBytes = size_t{8} << 20;
// Emptied buffers are handed out again, so that threads need not allocate anew.
constexpr size_t kSpareBuffers = 16;
constexpr size_t kLargestSpare = size_t{2} << 20;

struct CapturedPart {
  OpId at;
  Digest digest;
  int64_t part = 0;
  int64_t bytes = 0;
  std::vector<std::byte> values;
};

}  // namespace

struct Writer::Impl {
  Impl(const std::string& path, const Options& options)
      : path(path),
        options(options),
        forks(forkCount()),
        file(std::in_place, path, options.overwrite),
        encoder(std::in_place, *file) {}

  /// None in a forked child, where the parent's thread does not run and its locks may be held for
  /// ever.
  static Impl* mine(Impl* impl) {
    return impl != nullptr && impl->forks == forkCount() ? impl : nullptr;
  }
  /// Runs `body`; what it throws (out of memory) stays here.
  template <class Body>
  static auto guarded(Impl* impl, Body&& body) noexcept -> decltype(body(*impl)) {
    using Result = decltype(body(*impl));
    try {
      if (mine(impl) != nullptr) return body(*impl);
    } catch (...) {
    }
    return Result();
  }

  // --- the program's threads ---
  void submit(EventBuffer& buffer);
  void capture(CapturedPart&& part);
  void flush();
  void finish(bool complete);

  // --- the writer's thread ---
  void run();
  void writeQueue();
  void writeCaptures();
  void failCaptures(OpId at, const std::string& line);
  bool writeBatch(std::span<const PendingRow> rows, std::span<const EventBuffer> buffers);
  void runTick();
  void close();
  void fail(std::string line);

  const std::string path;
  const Options options;
  const uint64_t forks;  ///< forkCount() of the process that owns this
  Interner interner;

  std::mutex mutex;  ///< guards all up to `error`
  std::function<void()> collect;
  std::condition_variable work;
  std::condition_variable progress;
  std::deque<EventBuffer> queue;
  size_t queuedBytes = 0;
  std::vector<EventBuffer> spare;
  std::deque<CapturedPart> captures;
  size_t captureBytes = 0;
  bool capturesEnded = false;
  int waiting = 0;  ///< threads that wait for room in a queue
  uint64_t flushesAsked = 0;
  uint64_t flushesDone = 0;
  std::thread::id writerThread;
  bool stop = false;
  bool complete = false;
  bool failed = false;
  bool finished = false;
  std::string error;

  // The writer's thread only, once it runs.
  std::optional<TraceFile> file;
  std::optional<BatchEncoder> encoder;
  Compressor compressor;  ///< of captures
  std::thread thread;
  std::mutex finishMutex;
};

void Writer::Impl::submit(EventBuffer& buffer) {
  if (buffer.empty()) return;
  std::unique_lock lock(mutex);
  // The tick submits from the writer's own thread, which must not wait for itself.
  if (std::this_thread::get_id() != writerThread) {
    const auto room = [&] {
      return failed || finished || queuedBytes == 0 ||
             queuedBytes + buffer.size() <= options.queueBytes;
    };
    if (!room()) {
      ++waiting;
      work.notify_one();
      progress.wait(lock, room);
      --waiting;
    }
  }
  if (failed || finished) {
    buffer.clear();
    return;
  }
  EventBuffer taken;
  if (!spare.empty()) {
    taken.swap(spare.back());
    spare.pop_back();
  }
  taken.swap(buffer);
  queuedBytes += taken.size();
  queue.push_back(std::move(taken));
  if (queuedBytes >= kWakeBytes) work.notify_one();
}

void Writer::Impl::capture(CapturedPart&& part) {
  std::unique_lock lock(mutex);
  const auto room = [&] {
    return failed || finished || capturesEnded || captureBytes == 0 ||
           captureBytes + part.values.size() <= options.captureQueueBytes;
  };
  if (!room()) {
    ++waiting;
    work.notify_one();
    progress.wait(lock, room);
    --waiting;
  }
  if (failed || finished || capturesEnded) return;
  captureBytes += part.values.size();
  captures.push_back(std::move(part));
  if (captureBytes >= kWakeBytes) work.notify_one();
}

void Writer::Impl::flush() {
  std::unique_lock lock(mutex);
  if (std::this_thread::get_id() == writerThread) return;
  const uint64_t mine = ++flushesAsked;
  work.notify_one();
  progress.wait(lock, [&] { return failed || finished || flushesDone >= mine; });
}

void Writer::Impl::finish(bool markComplete) {
  const std::lock_guard once(finishMutex);
  {
    const std::lock_guard lock(mutex);
    if (finished) return;
    stop = true;
    complete = markComplete;
    work.notify_one();
  }
  thread.join();
}

void Writer::Impl::fail(std::string line) {
  interner.close();
  const std::lock_guard lock(mutex);
  if (!failed) error = std::move(line);
  failed = true;
  queue.clear();
  queuedBytes = 0;
  captures.clear();
  captureBytes = 0;
  progress.notify_all();
}

/// Captured values, in transactions of their own: what they find no room for must not take the ops
/// along.
void Writer::Impl::writeCaptures() {
  for (;;) {
    std::vector<CapturedPart> batch;
    size_t bytes = 0;
    {
      const std::lock_guard lock(mutex);
      while (!captures.empty() && bytes < kTransactionBytes) {
        bytes += captures.front().values.size();
        batch.push_back(std::move(captures.front()));
        captures.pop_front();
      }
    }
    if (batch.empty()) return;
    const auto gate = enterForkGate();
    try {
      file->begin();
      for (const CapturedPart& part : batch) {
        file->addCapture(part.digest, part.part, part.bytes, compressor.compress(part.values));
      }
      file->commit();
    } catch (const std::exception& error) {
      file->rollBack();
      return failCaptures(batch.front().at, error.what());
    }
    const std::lock_guard lock(mutex);
    captureBytes -= bytes;
    progress.notify_all();
  }
}

void Writer::Impl::failCaptures(OpId at, const std::string& line) {
  {
    const std::lock_guard lock(mutex);
    capturesEnded = true;
    captures.clear();
    captureBytes = 0;
    progress.notify_all();
  }
  std::string text = "{\"ended\": \"disk\", \"why\": \"";
  for (const char c : line) {
    if (c == '"' || c == '\\') text += '\\';
    text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  interner.event(at, "capture", text + "\"}");
}

/// Writes and commits all that is there, in transactions of bounded size.
void Writer::Impl::writeQueue() {
  for (;;) {
    std::vector<EventBuffer> batch;
    size_t bytes = 0;
    {
      const std::lock_guard lock(mutex);
      while (!queue.empty() && bytes < kTransactionBytes) {
        bytes += queue.front().size();
        batch.push_back(std::move(queue.front()));
        queue.pop_front();
      }
    }
    // After the buffers: what they refer to was interned before they were submitted.
    const std::vector<PendingRow> rows = interner.take();
    if (batch.empty() && rows.empty()) return;
    if (!writeBatch(rows, batch)) return;
    const std::lock_guard lock(mutex);
    queuedBytes -= bytes;
    for (EventBuffer& buffer : batch) {
      if (spare.size() == kSpareBuffers || buffer.size() > kLargestSpare) continue;
      buffer.clear();
      spare.push_back(std::move(buffer));
    }
    progress.notify_all();
  }
}

/// One transaction. False, and failed, where it could not be written.
bool Writer::Impl::writeBatch(std::span<const PendingRow> rows,
                              std::span<const EventBuffer> buffers) {
  const auto gate = enterForkGate();
  try {
    file->begin();
    for (const PendingRow& row : rows) row.write(*file);
    encoder->write(buffers);
    file->commit();
    return true;
  } catch (const TraceError& error) {
    fail(error.what());
  } catch (const Malformed& malformed) {
    fail(path + ": the recorder made events that can't be read (" + malformed.what +
         "); recording stopped");
  } catch (const std::exception& error) {
    fail(path + ": " + error.what() + "; recording stopped");
  }
  file->rollBack();
  return false;
}

/// What it throws is the collector's own affair; what it did submit is written.
void Writer::Impl::runTick() {
  std::function<void()> tick;
  {
    const std::lock_guard lock(mutex);
    tick = collect;
  }
  try {
    if (tick) tick();
  } catch (...) {
  }
}

void Writer::Impl::close() {
  const auto gate = enterForkGate();
  try {
    if (complete && !failed) {
      file->begin();
      file->markComplete(encoder->coverage());
      file->commit();
    }
  } catch (const std::exception& error) {
    file->rollBack();
    fail(error.what());
  }
  file->close();
  encoder.reset();
  file.reset();
}

void Writer::Impl::run() {
  pthread_setname_np(pthread_self(), "ulpscope-writer");
  // Inherited from the program, which may flush subnormals to zero: fingerprints would lose bits.
  std::fesetenv(FE_DFL_ENV);
  {
    const std::lock_guard lock(mutex);
    writerThread = std::this_thread::get_id();
  }
  const auto interval = std::chrono::milliseconds(std::max(1, options.flushMilliseconds));
  auto deadline = Clock::now() + interval;
  for (bool last = false; !last;) {
    uint64_t flushes;
    bool timed;
    {
      std::unique_lock lock(mutex);
      timed = !work.wait_until(lock, deadline, [&] {
        return stop || flushesAsked != flushesDone ||
               ((queuedBytes >= kWakeBytes || captureBytes >= kWakeBytes ||
                 (waiting != 0 && (!queue.empty() || !captures.empty()))) &&
                !failed);
      });
      flushes = flushesAsked;
      last = stop;
    }
    if (timed || Clock::now() >= deadline) {
      if (!last && !failed) runTick();
      deadline = Clock::now() + interval;
    }
    if (!failed) writeCaptures();
    if (!failed) writeQueue();
    const std::lock_guard lock(mutex);
    flushesDone = flushes;
    progress.notify_all();
  }
  interner.close();
  close();
  const std::lock_guard lock(mutex);
  finished = true;
  queue.clear();
  captures.clear();
  progress.notify_all();
}

Writer::Writer(const std::string& path, const Options& options) : impl_(nullptr) {
  std::unique_ptr<Impl> impl;
  {
    const auto gate = enterForkGate();
    impl = std::make_unique<Impl>(path, options);
  }
  // The program's signal handlers run on the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    impl->thread = std::thread([impl = impl.get()] { impl->run(); });
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw TraceError(TraceError::Code::io,
                     path + ": can't start the writer's thread: " + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  impl_ = impl.release();
}

Writer::~Writer() {
  if (Impl* impl = Impl::mine(impl_)) {
    impl->finish(false);
    delete impl;
  }
}

StringId Writer::string(std::string_view text) {
  return Impl::guarded(impl_, [&](Impl& impl) { return impl.interner.string(text); });
}

SchemaId Writer::schema(const Schema& schema) {
  return Impl::guarded(impl_, [&](Impl& impl) { return impl.interner.schema(schema); });
}

StackId Writer::stack(const Stack& stack) {
  return Impl::guarded(impl_, [&](Impl& impl) { return impl.interner.stack(stack); });
}

ProvenanceId Writer::provenance(const Provenance& provenance) {
  return Impl::guarded(impl_, [&](Impl& impl) { return impl.interner.provenance(provenance); });
}

void Writer::environment(std::string_view key, std::string_view value) {
  Impl::guarded(impl_, [&](Impl& impl) { impl.interner.environment(key, value); });
}

void Writer::meta(std::string_view key, std::string_view value) {
  Impl::guarded(impl_, [&](Impl& impl) { impl.interner.meta(key, value); });
}

void Writer::event(OpId at, std::string_view kind, std::string_view json) {
  Impl::guarded(impl_, [&](Impl& impl) { impl.interner.event(at, kind, json); });
}

void Writer::submit(EventBuffer& buffer) {
  Impl::guarded(impl_, [&](Impl& impl) { impl.submit(buffer); });
  buffer.clear();
}

void Writer::capture(OpId at, const Digest& digest, int64_t part, int64_t bytes,
                     std::vector<std::byte>&& values) {
  Impl::guarded(impl_, [&](Impl& impl) {
    impl.capture({at, digest, part, bytes, std::move(values)});
  });
}

bool Writer::capturing() const {
  return Impl::guarded(impl_, [](Impl& impl) {
    const std::lock_guard lock(impl.mutex);
    return !impl.failed && !impl.finished && !impl.capturesEnded;
  });
}

void Writer::onTick(std::function<void()> collect) {
  Impl::guarded(impl_, [&](Impl& impl) {
    const std::lock_guard lock(impl.mutex);
    impl.collect = std::move(collect);
  });
}

void Writer::flush() {
  Impl::guarded(impl_, [](Impl& impl) { impl.flush(); });
}

void Writer::finish() {
  Impl::guarded(impl_, [](Impl& impl) { impl.finish(true); });
}

void Writer::cutShort() {
  Impl::guarded(impl_, [](Impl& impl) { impl.finish(false); });
}

const std::string& Writer::path() const {
  static const std::string none;
  return impl_ != nullptr ? impl_->path : none;
}

std::string Writer::error() const {
  return Impl::guarded(impl_, [](Impl& impl) {
    const std::lock_guard lock(impl.mutex);
    return impl.error;
  });
}

void Writer::abandonAfterFork() {
  impl_ = nullptr;
}

}  // namespace ulpscope
