#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "dispatch_hook/op_frame.h"
#include "dispatch_hook/recorder.h"
#include "dispatch_hook/spin_lock.h"
#include "store/records.h"

namespace ulpscope {

class Session;
class Writer;

/// Decides which calls' values go into the trace, and puts them there within the limit. A call that
/// does not fit is left out as a whole (of an op: its inputs, or its results); the first one is said
/// in an event "capture". Thread-safe; nothing here throws into the program.
class ValueCapture {
 public:
  explicit ValueCapture(const RecorderOptions& options);

  /// Is anything captured by name?
  bool byName() const noexcept { return !globs_.empty(); }
  bool matches(std::string_view name) const;
  /// Tells names when they are interned, so that calls can be chosen by id.
  void note(SchemaId id, const Schema& schema);
  void note(ProvenanceId id, const Provenance& provenance);
  bool noted(SchemaId schema, ProvenanceId provenance) noexcept;

  /// Whether the values of this kernel call are to be kept; true for the first call of each site
  /// where the options say so.
  bool wantsKernel(SchemaId schema, ProvenanceId provenance) noexcept;

  /// Keeps frame.values, and forgets them there. `later`: bytes that the same call will want to keep
  /// when it ends. False where there is no room for all of it, and nothing was kept.
  bool keep(Session& session, OpFrame& frame, int64_t later) noexcept;

  /// Bytes that are left of the limit.
  int64_t room() noexcept;

  /// Facts for the trace, at its end.
  void report(Writer& writer);

 private:
  bool admit(OpFrame& frame, int64_t later);
  void leaveOut(Session& session, OpId at, int64_t needed);

  const bool first_;
  const int64_t limit_;
  const std::vector<std::string> globs_;

  struct DigestHash {
    size_t operator()(const Digest& digest) const { return size_t(digest.low); }
  };
  SpinLock lock_;  ///< guards the rest
  std::unordered_set<uint32_t> sites_, schemas_, provenances_;
  std::unordered_set<Digest, DigestHash> kept_;
  int64_t used_ = 0;
  int64_t leftOut_ = 0;  ///< calls
};

}  // namespace ulpscope
