#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/event_reader.h"
#include "store/reader.h"

namespace ulpscope {

/// What following says of one op that has ended.
struct Followed {
  enum class Verdict : uint8_t {
    agrees,
    unjudged,  ///< the reference has no partner for it
    origin,    ///< what it read is in the reference, what it wrote is not
    carried,   ///< it read something that the reference does not have
  };
  Verdict verdict = Verdict::unjudged;
  OpId reference;  ///< a partner, where it does not agree
  Role role = Role::output;  ///< which result differs
  int16_t arg = 0;
  int16_t item = -1;
};

/// Compares a run with an earlier trace while it runs, one op at a time and one step in memory.
///
/// Partners are ops of the same step and name (of a kernel: of the ops that it computes, by its
/// ties) with a result at the same position, of the same dtype and size; in the same module where
/// there are such. Where one of them read the same, only those that did are partners. An op agrees
/// when its result is that of one of them: which one cannot be told before the run is over, so that
/// two ops that exchanged their results would pass. `ulpscope diff` aligns whole runs.
///
/// Thread-safe. Throws TraceError where the reference can't be read.
class Follower {
 public:
  explicit Follower(const std::string& reference);

  void note(ProvenanceId id, const Provenance& provenance);
  /// `name` of the op, empty for kernels; `module` around it, empty where not known; `operands` as
  /// EventBuffer has them.
  Followed judge(const RawOp& op, std::string_view name, std::string_view module,
                 std::span<const std::byte> operands);
  const std::string& path() const { return reference_.path(); }

 private:
  struct Candidate {
    Digest digest;
    uint64_t inputs = 0;  ///< hash of all that it read; 0: of no matter
    OpId op;
  };
  struct Candidates {
    std::vector<Candidate> list;
    bool incomplete = false;  ///< some partner has no fingerprint
  };
  struct Tie {
    int16_t arg = 0;
    int16_t output = 0;
    bool backward = false;
    uint64_t name = 0;
    uint64_t module = 0;
  };
  struct Result {
    Role role = Role::output;
    int16_t arg = 0;
    int16_t item = -1;
    DType dtype = DType::Undefined;
    int64_t elements = 0;
    int32_t position = 0;  ///< among the results
    bool known = false;    ///< `digest` is
    Digest digest;
  };
  struct DigestHash {
    size_t operator()(const Digest& digest) const { return size_t(digest.low); }
  };

  static std::vector<Tie> tiesOf(const Provenance& provenance);
  void load(int32_t step);
  void addReference(const OpTable& table, const Op& op);
  void add(uint64_t key, const Result& result, uint64_t inputs, OpId op);
  const Candidates* find(uint64_t key) const;
  const Candidates* partners(const RawOp& op, uint64_t name, uint64_t module, const Result& result,
                             bool& exact) const;
  const Candidates* tied(const RawOp& op, const std::vector<Tie>& ties, const Result& result) const;

  const Reader reference_;
  std::mutex mutex_;  ///< guards the rest
  std::unordered_map<uint32_t, std::vector<Tie>> ties_;
  int32_t step_ = -1;
  std::unordered_map<uint64_t, Candidates> candidates_;
  std::unordered_map<Digest, OpId, DigestHash> digests_;  ///< of all operands of the step
  OperandRecord record_;
  std::vector<Result> results_;
};

}  // namespace ulpscope
