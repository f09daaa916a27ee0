#include "diff/ranks/replicas.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "diff/values.h"

namespace ulpscope {
namespace {

struct Carry {
  uint8_t mask = 0;
  int32_t group = -1;
  void add(const Carry& other) {
    mask |= other.mask;
    if (group < 0 || (other.mask & kCarriesReduced)) group = other.group >= 0 ? other.group : group;
  }
};

uint8_t maskOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::allReduce:
    case CollectiveKind::reduce: return kCarriesReduced;
    case CollectiveKind::reduceScatter: return kCarriesScattered;
    default: return kCarriesGathered;
  }
}

class Finder {
 public:
  explicit Finder(const RankRun& run) : run_(run) {}

  Replicas find() {
    size_t next = 0;
    for (uint32_t at = 0; at < run_.side.ops.ops.size(); ++at) {
      const Op& op = run_.op(at);
      if (next < run_.collectives.size() && run_.collectives[next].op == at) {
        const Collective& call = run_.collectives[next++];
        for (const uint32_t result : call.results) {
          const Operand& written = run_.operand(result);
          carries_[written.storage.value] = {maskOf(call.kind), int32_t(call.group)};
          optimizerMade_.erase(written.storage.value);
        }
        continue;
      }
      if (run_.inBackend[at] || op.kind == OpKind::collective || op.kind == OpKind::wrapper) continue;
      if (op.phase == Phase::optimizer) {
        optimizerOp(at);
      } else {
        otherOp(at);
      }
    }
    findInfluences();
    return std::move(result_);
  }

 private:
  std::span<const Operand> operands(uint32_t at) const { return run_.side.ops.of(run_.op(at)); }

  static bool isScalarLike(const TensorType& type) { return elementCount(type) <= 1; }
  const TensorType& type(const Operand& operand) const {
    return run_.side.reader->type(operand.type);
  }
  static bool viewsAnInput(std::span<const Operand> all, const Operand& output) {
    return std::any_of(all.begin(), all.end(), [&](const Operand& each) {
      return isRead(each.role) && each.storage == output.storage;
    });
  }
  Carry carried(const Operand& operand) const {
    const auto found = carries_.find(operand.storage.value);
    return found == carries_.end() ? Carry{} : found->second;
  }

  /// Carries go through ops that move values or scale them, not through arithmetic of several tensors.
  void otherOp(uint32_t at) {
    const Op& op = run_.op(at);
    const std::span<const Operand> all = operands(at);
    const OpFacts& facts = run_.index->facts(op);
    if (facts.movesData && !facts.copies) return;
    Carry carry;
    size_t sources = 0;
    bool carries = false;
    std::set<std::pair<int16_t, int16_t>> lists;
    for (const Operand& each : all) {
      if (!isRead(each.role) || each.skip == SkipReason::uninitialised) continue;
      const Carry here = carried(each);
      carries = carries || here.mask != 0;
      if (isScalarLike(type(each)) && here.mask == 0) continue;
      carry.add(here);
      lists.insert({each.arg, 0});
    }
    sources = lists.size();
    const bool passes = facts.copies || facts.movesData || (sources <= 1 && !facts.contracts);
    // Arithmetic of the model on what was exchanged, other than on parameters that were gathered.
    if (carries && !passes && (op.phase == Phase::forward || op.phase == Phase::backward)) {
      for (const Operand& each : all) {
        if (isRead(each.role) && carried(each).mask != 0 &&
            !run_.index->isParameter(each.storage)) {
          result_.activationCollectives = true;
        }
      }
    }
    for (const Operand& each : all) {
      if (!isWritten(each.role) || !each.storage) continue;
      if (each.role == Role::output && viewsAnInput(all, each)) continue;
      optimizerMade_.erase(each.storage.value);
      if (passes && carry.mask != 0) {
        carries_[each.storage.value] = carry;
      } else {
        carries_.erase(each.storage.value);
      }
    }
  }

  /// In the optimizer whatever a parameter's new value is made of counts, as far as this step made it
  /// or the gradient brought it.
  void optimizerOp(uint32_t at) {
    const Op& op = run_.op(at);
    if (op.step != step_) {
      step_ = op.step;
      optimizerMade_.clear();
    }
    const std::span<const Operand> all = operands(at);
    for (const Operand& each : all) {
      if (!isRead(each.role)) continue;
      const Operand* whole = wholeOf(op, each);
      if (((whole != nullptr ? whole->flags : 0) | each.flags) & kParameter) {
        // A local tensor as large as the whole is a replica (or the whole lies on one rank).
        remember(each, whole != nullptr && type(*whole).sizes != type(each).sizes);
      }
    }
    for (const Operand& each : all) {
      if (!isWritten(each.role) || !each.storage) continue;
      if (each.role == Role::output && viewsAnInput(all, each)) continue;
      Carry carry;
      for (const Operand& source : all) {
        if (!isRead(source.role)) continue;
        if (source.item >= 0 && each.item >= 0 && source.item != each.item) continue;
        const auto made = optimizerMade_.find(source.storage.value);
        if (made != optimizerMade_.end()) {
          carry.add(made->second);
        } else if (!known_.contains(source.storage.value) && !optimizerState_.contains(source.storage.value)) {
          carry.add(carried(source));
        }
      }
      optimizerMade_[each.storage.value].add(carry);
      optimizerState_.insert(each.storage.value);
      const auto parameter = known_.find(each.storage.value);
      if (parameter == known_.end() || each.role != Role::after) continue;
      for (const uint32_t p : parameter->second) {
        Replicas::Parameter& known = result_.parameters[p];
        if (known.offset != each.offset) continue;
        update(known, op, at, all, each, optimizerMade_[each.storage.value]);
      }
    }
  }

  void remember(const Operand& each, bool shard) {
    std::vector<uint32_t>& here = known_[each.storage.value];
    for (const uint32_t p : here) {
      if (result_.parameters[p].offset == each.offset) return;
    }
    here.push_back(uint32_t(result_.parameters.size()));
    Replicas::Parameter parameter;
    parameter.type = each.type;
    parameter.storage = each.storage.value;
    parameter.offset = each.offset;
    parameter.shard = shard;
    result_.parameters.push_back(std::move(parameter));
    lastStep_.push_back(-1);
  }

  void update(Replicas::Parameter& known, const Op& op, uint32_t at, std::span<const Operand> all,
              const Operand& written, const Carry& carry) {
    int32_t& last = lastStep_[size_t(&known - result_.parameters.data())];
    if (last != op.step || known.updates.empty()) {
      last = op.step;
      known.updates.emplace_back();
      for (const Operand& each : all) {
        if (isRead(each.role) && each.storage == written.storage && each.offset == written.offset) {
          known.updates.back().before = &each - run_.side.ops.operands.data();
          break;
        }
      }
    }
    Replicas::Update& update = known.updates.back();
    update.op = at;
    update.after = &written - run_.side.ops.operands.data();
    update.carried |= carry.mask;
    known.carried |= carry.mask;
    if ((carry.mask & kCarriesReduced) && carry.group >= 0) {
      known.group = run_.groups[size_t(carry.group)].name;
    }
  }

  /// Of a local tensor that an op on wrapped tensors (DTensor) hands down: the wrapped one.
  const Operand* wholeOf(const Op& op, const Operand& local) const {
    const int32_t parent = op.parent ? run_.index->indexOf(op.parent) : -1;
    if (parent < 0 || run_.op(uint32_t(parent)).kind != OpKind::wrapper) return nullptr;
    if (run_.op(uint32_t(parent)).schema != op.schema) return nullptr;
    for (const Operand& whole : operands(uint32_t(parent))) {
      if (whole.arg == local.arg && whole.item == local.item && isRead(whole.role)) return &whole;
    }
    return nullptr;
  }

  void findInfluences() {
    std::vector<bool>& marked = result_.influences;
    marked.assign(run_.side.ops.ops.size(), false);
    for (const Collective& call : run_.collectives) {
      for (const uint32_t input : call.inputs) {
        if (info(run_.type(input).dtype).kind == NumberKind::floating) marked[call.op] = true;
      }
    }
    for (const Replicas::Parameter& parameter : result_.parameters) {
      for (const Replicas::Update& update : parameter.updates) marked[update.op] = true;
    }
    for (uint32_t at = uint32_t(marked.size()); at-- > 0;) {
      if (!marked[at]) continue;
      const Op& op = run_.op(at);
      for (uint32_t i = op.firstOperand; i < op.firstOperand + op.operandCount; ++i) {
        if (!isRead(run_.operand(i).role)) continue;
        const int32_t maker = run_.producers[i];
        if (maker >= 0 && uint32_t(maker) < at) marked[size_t(maker)] = true;
        for (const Producers::Part& part : run_.producers.others(i)) {
          if (part.op >= 0 && uint32_t(part.op) < at) marked[size_t(part.op)] = true;
        }
      }
    }
  }

  const RankRun& run_;
  Replicas result_;
  int32_t step_ = -1;
  std::unordered_map<int64_t, Carry> carries_;         // by storage, outside the optimizer
  std::unordered_map<int64_t, Carry> optimizerMade_;   // by storage, in this step's optimizer
  std::set<int64_t> optimizerState_;                   // storages that the optimizer has written
  std::unordered_map<int64_t, std::vector<uint32_t>> known_;  // by storage: parameters
  std::vector<int32_t> lastStep_;
};

}  // namespace

Replicas findReplicas(const RankRun& run) { return Finder(run).find(); }

}  // namespace ulpscope
