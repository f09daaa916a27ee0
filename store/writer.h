#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/event_buffer.h"
#include "store/records.h"

namespace ulpscope {

/// Writes one trace file. The program's threads call submit and the intern functions; a thread of
/// the writer's own decodes, interns and inserts in batches (SQLite in WAL mode, one transaction a
/// batch), so that a killed process leaves a readable file up to the last batch.
///
/// Nothing here throws into the program except the constructor. After a write error (disk full,
/// folder gone) the writer stops writing, keeps what is in the file, drops what is submitted later,
/// and error() says why in one line.
class Writer {
 public:
  struct Options {
    size_t queueBytes = size_t(64) << 20;  ///< submitted and not yet written; beyond it submit waits
    size_t captureQueueBytes = size_t(16) << 20;  ///< the same for captured values
    int flushMilliseconds = 200;           ///< a batch is committed at least this often
    bool overwrite = false;                ///< replace an existing file
  };

  /// Creates the file, for its owner alone (mode 0600). Throws TraceError (store/error.h) where it
  /// exists already (without overwrite) or can't be created.
  Writer(const std::string& path, const Options& options);
  ~Writer();  ///< closes as a cut-short trace unless finish() was called
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Interning: thread-safe, equal input gives the equal id, meant for cold paths (callers cache).
  StringId string(std::string_view text);
  SchemaId schema(const Schema& schema);
  StackId stack(const Stack& stack);
  ProvenanceId provenance(const Provenance& provenance);

  /// Facts about the run, kept in order; a later value for a key replaces the earlier. Thread-safe.
  void environment(std::string_view key, std::string_view value);
  /// Facts about the trace itself ("command", "rank", "level", ...). Thread-safe.
  void meta(std::string_view key, std::string_view value);
  void event(OpId at, std::string_view kind, std::string_view json);

  /// Takes the buffer's content and leaves it empty. Waits while the queue is full; never drops
  /// while the file can be written.
  void submit(EventBuffer& buffer);

  /// Takes a part of the values of a tensor: bytes
  /// [part * kCapturePartBytes, ...) of the `bytes` of its logical elements in row-major order, the
  /// bytes that `digest` is of. Waits while the queue is full. Where the file has no room for them,
  /// what was captured before stays, no more is taken, an event "capture" at `at` says why, and the
  /// rest of the trace goes on.
  void capture(OpId at, const Digest& digest, int64_t part, int64_t bytes,
               std::vector<std::byte>&& values);
  /// False where capture() takes nothing any more.
  bool capturing() const;

  /// Called from the writer's thread before each timed commit, to collect what threads have not
  /// submitted yet. Set once, before the first submit.
  void onTick(std::function<void()> collect);

  /// Waits until everything submitted so far is committed.
  void flush();
  /// Writes coverage and the clean-end mark, checkpoints the WAL and closes. Later calls do nothing.
  void finish();
  /// The same without coverage and clean-end mark: the run was cut short. Waits until what was
  /// submitted is written.
  void cutShort();

  const std::string& path() const;
  std::string error() const;  ///< "" while all is well
  /// In a forked child: forget file, thread and queue without touching them (they are the parent's).
  void abandonAfterFork();

 private:
  struct Impl;
  Impl* impl_;  // not a unique_ptr: abandonAfterFork leaks it on purpose
};

}  // namespace ulpscope
