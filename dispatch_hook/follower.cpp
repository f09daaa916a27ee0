#include "dispatch_hook/follower.h"

#include <algorithm>
#include <functional>

namespace ulpscope {

namespace {

// Ties below are guesses.
constexpr float kSureTie = 0.5F;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9FB21C651E98DF25u;
  return hash ^ (hash >> 32);
}

uint64_t hashOf(std::string_view text) {
  return text.empty() ? 0 : uint64_t(std::hash<std::string_view>{}(text)) | 1;
}

/// Forward and what runs outside of it are one: without gradients the recorder can't tell them apart.
uint64_t groupOf(Phase phase) {
  return phase == Phase::backward ? 1 : phase == Phase::optimizer ? 2 : 0;
}

/// Of a result of an op, by its argument.
uint64_t exactKey(uint64_t name, uint64_t group, uint64_t module, Role role, int16_t arg,
                  int16_t item, DType dtype, int64_t elements) {
  uint64_t key = mix(1, name);
  key = mix(key, group << 32 | uint64_t(role) << 16 | uint64_t(dtype));
  key = mix(key, uint64_t(uint16_t(arg)) << 16 | uint16_t(item));
  return mix(mix(key, module), uint64_t(elements));
}

/// Of a result by its place among all of them, whatever the op's variant.
uint64_t looseKey(uint64_t name, uint64_t group, uint64_t module, int32_t position, DType dtype,
                  int64_t elements) {
  uint64_t key = mix(2, name);
  key = mix(key, group << 32 | uint64_t(dtype));
  key = mix(key, uint64_t(uint32_t(position)));
  return mix(mix(key, module), uint64_t(elements));
}

/// Numbers that torch made tensors of are scalar arguments: with others an op parts by itself.
bool isValue(uint8_t flags) { return (flags & kWrappedNumber) == 0; }

bool reads(Role role) { return role == Role::input || role == Role::before; }

int64_t product(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

uint64_t addInput(uint64_t hash, const Digest& digest) {
  return mix(mix(hash, digest.low), digest.high);
}

/// Results count in their order; written arguments after them, or alone where there are none.
template <class Result>
void numberResults(std::vector<Result>& results) {
  int32_t next = 0;
  for (Result& result : results) {
    if (result.role == Role::output) result.position = next++;
  }
  for (Result& result : results) {
    if (result.role == Role::after) result.position = next++;
  }
}

}  // namespace

Follower::Follower(const std::string& reference) : reference_(reference) {
  if (reference_.fingerprintVersion() != kFingerprintVersion) {
    throw TraceError(TraceError::Code::newer, reference + ": its fingerprints are of another version; "
                                                          "record the reference again");
  }
}

std::vector<Follower::Tie> Follower::tiesOf(const Provenance& provenance) {
  std::vector<Tie> ties;
  for (const OutputTie& tie : provenance.ties) {
    if (tie.source < 0 || size_t(tie.source) >= provenance.sources.size()) continue;
    if (tie.confidence < kSureTie) continue;
    const SourceOp& source = provenance.sources[size_t(tie.source)];
    ties.push_back(
        {tie.arg, tie.output, source.backward, hashOf(source.op), hashOf(source.module)});
  }
  return ties;
}

void Follower::note(ProvenanceId id, const Provenance& provenance) {
  if (!id) return;
  const std::lock_guard guard(mutex_);
  ties_.try_emplace(id.value, tiesOf(provenance));
}

void Follower::add(uint64_t key, const Result& result, uint64_t inputs, OpId op) {
  Candidates& candidates = candidates_[key];
  if (result.known) {
    candidates.list.push_back({result.digest, inputs, op});
  } else {
    candidates.incomplete = true;
  }
}

void Follower::addReference(const OpTable& table, const Op& op) {
  if (op.kind == OpKind::compiled || op.kind == OpKind::wrapper) return;
  const uint64_t name = hashOf(reference_.schema(op.schema).name);
  const uint64_t module = hashOf(reference_.module(op).first);
  results_.clear();
  uint64_t inputs = 1;
  for (const Operand& operand : table.of(op)) {
    const Digest digest = reference_.digest(operand.fingerprint);
    if (operand.fingerprint) digests_.try_emplace(digest, op.id);
    if (reads(operand.role)) {
      if (isValue(operand.flags) && operand.fingerprint) inputs = addInput(inputs, digest);
      continue;
    }
    if ((operand.flags & kScratch) != 0) continue;
    const TensorType& type = reference_.type(operand.type);
    results_.push_back({operand.role, operand.arg, operand.item, type.dtype, product(type.sizes), 0,
                        bool(operand.fingerprint), digest});
  }
  numberResults(results_);
  const uint64_t group = groupOf(op.phase);
  if (op.provenance) {
    for (const Tie& tie : tiesOf(reference_.provenance(op.provenance))) {
      const uint64_t from = group == 2 ? 2 : tie.backward ? 1 : 0;
      for (const Result& result : results_) {
        if (op.kind == OpKind::kernel ? result.arg != tie.arg : result.position != tie.arg) continue;
        for (const uint64_t in : {tie.module, uint64_t{0}}) {
          add(looseKey(tie.name, from, in, tie.output, result.dtype, result.elements), result, 0,
              op.id);
        }
      }
    }
  }
  if (op.kind == OpKind::kernel) return;
  for (const Result& result : results_) {
    for (const uint64_t in : {module, uint64_t{0}}) {
      add(exactKey(name, group, in, result.role, result.arg, result.item, result.dtype,
                   result.elements),
          result, inputs, op.id);
      add(looseKey(name, group, in, result.position, result.dtype, result.elements), result, 0,
          op.id);
      if (module == 0) break;
    }
  }
}

void Follower::load(int32_t step) {
  step_ = step;
  candidates_.clear();
  digests_.clear();
  const OpTable table = reference_.readStep(step);
  for (const Op& op : table.ops) addReference(table, op);
}

const Follower::Candidates* Follower::find(uint64_t key) const {
  const auto found = candidates_.find(key);
  return found == candidates_.end() ? nullptr : &found->second;
}

const Follower::Candidates* Follower::partners(const RawOp& op, uint64_t name, uint64_t module,
                                               const Result& result, bool& exact) const {
  const uint64_t group = groupOf(op.phase);
  for (const bool loose : {false, true}) {
    exact = !loose;
    for (const uint64_t in : {module, uint64_t{0}}) {
      const Candidates* found =
          find(loose ? looseKey(name, group, in, result.position, result.dtype, result.elements)
                     : exactKey(name, group, in, result.role, result.arg, result.item, result.dtype,
                                result.elements));
      if (found != nullptr) return found;
      if (module == 0) break;
    }
  }
  return nullptr;
}

const Follower::Candidates* Follower::tied(const RawOp& op, const std::vector<Tie>& ties,
                                           const Result& result) const {
  // Ties of one parameter name values with the same elements, best first.
  for (const Tie& tie : ties) {
    if (op.kind == OpKind::kernel ? result.arg != tie.arg : result.position != tie.arg) continue;
    const uint64_t group = op.phase == Phase::optimizer ? 2 : tie.backward ? 1 : 0;
    for (const uint64_t in : {tie.module, uint64_t{0}}) {
      const Candidates* found =
          find(looseKey(tie.name, group, in, tie.output, result.dtype, result.elements));
      if (found != nullptr) return found;
      if (tie.module == 0) break;
    }
  }
  return nullptr;
}

Followed Follower::judge(const RawOp& op, std::string_view name, std::string_view module,
                         std::span<const std::byte> operands) {
  Followed followed;
  if (op.kind == OpKind::compiled || op.kind == OpKind::wrapper) return followed;
  const std::lock_guard guard(mutex_);
  if (op.step != step_) load(op.step);
  results_.clear();
  uint64_t inputs = 1;
  bool inputsKnown = true;
  ByteReader in(operands);
  while (!in.empty()) {
    readOperand(in, record_);
    const RawOperand& raw = record_.operand;
    const int64_t elements = product(record_.sizes);
    if (reads(raw.role)) {
      if (!raw.hasFingerprint || !isValue(raw.flags)) continue;
      inputs = addInput(inputs, record_.fingerprint.digest);
      inputsKnown = inputsKnown && (elements == 0 || digests_.contains(record_.fingerprint.digest));
    } else if ((raw.flags & kScratch) == 0) {
      results_.push_back({raw.role, raw.arg, raw.item, raw.dtype, elements, 0, raw.hasFingerprint,
                          record_.fingerprint.digest});
    }
  }
  numberResults(results_);
  const auto known = ties_.find(op.provenance.value);
  const bool byTies = known != ties_.end() && !known->second.empty();
  if (op.kind == OpKind::kernel && !byTies) return followed;
  const uint64_t nameHash = hashOf(name);
  const uint64_t moduleHash = hashOf(module);
  for (const Result& result : results_) {
    if (!result.known) continue;
    // Memory that some ops hand to their backward, opaque and only in part written.
    if (result.dtype == DType::UInt8 && result.position != 0) continue;
    bool exact = false;
    const Candidates* found = byTies ? tied(op, known->second, result)
                                     : partners(op, nameHash, moduleHash, result, exact);
    if (found == nullptr || found->list.empty()) continue;
    const std::vector<Candidate>& list = found->list;
    const auto readTheSame = [&](const Candidate& c) { return c.inputs == inputs; };
    const bool some = exact && std::any_of(list.begin(), list.end(), readTheSame);
    const auto agrees = [&](const Candidate& c) {
      return c.digest == result.digest && (!some || readTheSame(c));
    };
    if (std::any_of(list.begin(), list.end(), agrees)) {
      if (followed.verdict == Followed::Verdict::unjudged) {
        followed.verdict = Followed::Verdict::agrees;
      }
      continue;
    }
    if (found->incomplete) continue;
    // All that it read is there, but no op that read it so: a partner is missing, not a value.
    if (exact && !some && inputsKnown) continue;
    const auto partner = std::find_if(list.begin(), list.end(),
                                      [&](const Candidate& c) { return !some || readTheSame(c); });
    followed = {some || inputsKnown ? Followed::Verdict::origin : Followed::Verdict::carried,
                partner->op, result.role, result.arg, result.item};
    return followed;
  }
  return followed;
}

}  // namespace ulpscope
