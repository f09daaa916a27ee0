#include "store/writer.h"

#include <pthread.h>
#include <signal.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "store/batch_encoder.h"
#include "store/fork_gate.h"
#include "store/record_packing.h"
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

struct KeyHash {
  size_t operator()(const Key128& key) const { return static_cast<size_t>(key.low); }
};

/// A value that the program's threads gave and the writer's thread has not written yet.
struct PendingRow {
  enum class Kind : uint8_t { string, schema, stack, provenance, environment, meta, event };
  Kind kind;
  int64_t id = 0;
  std::string a;
  std::string b;
};

std::span<const std::byte> bytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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
  template <class Id, class Pack>
  Id intern(std::unordered_map<Key128, uint32_t, KeyHash>& known, PendingRow::Kind kind,
            Pack&& pack);
  StringId internString(std::string_view text);  // with internMutex held
  void add(PendingRow row);
  void submit(EventBuffer& buffer);
  void flush();
  void finish(bool complete);

  // --- the writer's thread ---
  void run();
  void writeQueue();
  void writeRow(const PendingRow& row);
  void close();
  void fail(std::string line);

  const std::string path;
  const Options options;
  const uint64_t forks;  ///< forkCount() of the process that owns this
  std::function<void()> collect;

  std::mutex internMutex;
  std::unordered_map<Key128, uint32_t, KeyHash> strings, schemas, stacks, provenances;
  ByteWriter packed;
  std::vector<PendingRow> pending;

  std::mutex mutex;  ///< guards all up to `file`
  std::condition_variable work;
  std::condition_variable progress;
  std::deque<EventBuffer> queue;
  size_t queuedBytes = 0;
  std::vector<EventBuffer> spare;
  int waiting = 0;  ///< threads that wait for room in the queue
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
  std::thread thread;
  std::mutex finishMutex;
};

template <class Id, class Pack>
Id Writer::Impl::intern(std::unordered_map<Key128, uint32_t, KeyHash>& known, PendingRow::Kind kind,
                        Pack&& pack) {
  const std::lock_guard lock(internMutex);
  packed.clear();
  pack(packed);
  const XXH128_hash_t hash = XXH3_128bits(packed.bytes().data(), packed.size());
  const auto [found, added] =
      known.try_emplace({hash.low64, hash.high64}, static_cast<uint32_t>(known.size() + 1));
  if (added) pending.push_back({kind, found->second, textOf(packed.bytes()), {}});
  return {found->second};
}

StringId Writer::Impl::internString(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  const auto [found, added] =
      strings.try_emplace({hash.low64, hash.high64}, static_cast<uint32_t>(strings.size() + 1));
  if (added) pending.push_back({PendingRow::Kind::string, found->second, std::string(text), {}});
  return {found->second};
}

void Writer::Impl::add(PendingRow row) {
  const std::lock_guard lock(internMutex);
  pending.push_back(std::move(row));
}

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
  const std::lock_guard lock(mutex);
  if (!failed) error = std::move(line);
  failed = true;
  queue.clear();
  queuedBytes = 0;
  progress.notify_all();
}

void Writer::Impl::writeRow(const PendingRow& row) {
  using Kind = PendingRow::Kind;
  const auto id = static_cast<uint32_t>(row.id);
  switch (row.kind) {
    case Kind::string:
      return file->addString({id}, row.a);
    case Kind::schema:
      return file->addSchema({id}, bytesOf(row.a));
    case Kind::stack:
      return file->addStack({id}, bytesOf(row.a));
    case Kind::provenance:
      return file->addProvenance({id}, bytesOf(row.a));
    case Kind::environment:
      return file->setEnvironment(row.a, row.b);
    case Kind::meta:
      return file->setMeta(row.a, row.b);
    case Kind::event:
      return file->addEvent({row.id}, row.a, row.b);
  }
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
    std::vector<PendingRow> rows;
    {
      const std::lock_guard lock(internMutex);
      rows.swap(pending);
    }
    if (batch.empty() && rows.empty()) return;
    {
      const auto gate = enterForkGate();
      file->begin();
      for (const PendingRow& row : rows) writeRow(row);
      encoder->write(batch);
      file->commit();
    }
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
               ((queuedBytes >= kWakeBytes || (waiting != 0 && !queue.empty())) && !failed);
      });
      flushes = flushesAsked;
      last = stop;
    }
    if (timed || Clock::now() >= deadline) {
      std::function<void()> tick;
      {
        const std::lock_guard lock(mutex);
        tick = collect;
      }
      try {
        if (tick && !last && !failed) tick();
      } catch (...) {
        // The collector's own affair; what it did submit is written.
      }
      deadline = Clock::now() + interval;
    }
    if (!failed) {
      try {
        writeQueue();
      } catch (const TraceError& error) {
        fail(error.what());
      } catch (const Malformed& malformed) {
        fail(path + ": the recorder made events that can't be read (" + malformed.what +
             "); recording stopped");
      } catch (const std::exception& error) {
        fail(path + ": " + error.what() + "; recording stopped");
      }
      if (failed) file->rollBack();
    }
    const std::lock_guard lock(mutex);
    flushesDone = flushes;
    progress.notify_all();
  }
  close();
  const std::lock_guard lock(mutex);
  finished = true;
  queue.clear();
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
  return Impl::guarded(impl_, [&](Impl& impl) {
    const std::lock_guard lock(impl.internMutex);
    return impl.internString(text);
  });
}

SchemaId Writer::schema(const Schema& schema) {
  return Impl::guarded(impl_, [&](Impl& impl) {
    return impl.intern<SchemaId>(impl.schemas, PendingRow::Kind::schema, [&](ByteWriter& out) {
      packSchema(
          schema, [&](std::string_view text) { return impl.internString(text); }, out);
    });
  });
}

StackId Writer::stack(const Stack& stack) {
  return Impl::guarded(impl_, [&](Impl& impl) {
    return impl.intern<StackId>(impl.stacks, PendingRow::Kind::stack, [&](ByteWriter& out) {
      packStack(
          stack, [&](std::string_view text) { return impl.internString(text); }, out);
    });
  });
}

ProvenanceId Writer::provenance(const Provenance& provenance) {
  return Impl::guarded(impl_, [&](Impl& impl) {
    return impl.intern<ProvenanceId>(
        impl.provenances, PendingRow::Kind::provenance, [&](ByteWriter& out) {
          packProvenance(
              provenance, [&](std::string_view text) { return impl.internString(text); }, out);
        });
  });
}

void Writer::environment(std::string_view key, std::string_view value) {
  Impl::guarded(impl_, [&](Impl& impl) {
    impl.add({PendingRow::Kind::environment, 0, std::string(key), std::string(value)});
  });
}

void Writer::meta(std::string_view key, std::string_view value) {
  Impl::guarded(impl_, [&](Impl& impl) {
    impl.add({PendingRow::Kind::meta, 0, std::string(key), std::string(value)});
  });
}

void Writer::event(OpId at, std::string_view kind, std::string_view json) {
  Impl::guarded(impl_, [&](Impl& impl) {
    impl.add({PendingRow::Kind::event, at.value, std::string(kind), std::string(json)});
  });
}

void Writer::submit(EventBuffer& buffer) {
  Impl::guarded(impl_, [&](Impl& impl) { impl.submit(buffer); });
  buffer.clear();
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
