#include "diff/replacements.h"

#include <unordered_map>

namespace ulpscope {
namespace {

struct Gap {  // units of B, from first to last
  int64_t first = 0;
  int64_t last = -1;
  bool holds(const Gap& other) const { return other.first >= first && other.last <= last; }
};

/// For each run of A, the units of B between the partners of its neighbours.
std::vector<Gap> gaps(const std::vector<int32_t>& run, const Alignment& alignment,
                      int64_t unitsOfB) {
  std::vector<Gap> result;
  int64_t before = -1;
  for (size_t i = 0; i < run.size(); ++i) {
    if (alignment.toB[i] >= 0) before = alignment.toB[i];
    if (run[i] >= 0 && size_t(run[i]) == result.size()) {
      result.push_back({before + 1, unitsOfB - 1});
    }
  }
  int64_t after = unitsOfB;
  for (size_t i = run.size(); i-- > 0;) {
    if (alignment.toB[i] >= 0) after = alignment.toB[i];
    if (run[i] >= 0) result[size_t(run[i])].last = after - 1;
  }
  return result;
}

std::vector<Gap> extents(const std::vector<int32_t>& run) {
  std::vector<Gap> result;
  for (size_t j = 0; j < run.size(); ++j) {
    if (run[j] < 0) continue;
    if (size_t(run[j]) == result.size()) result.push_back({int64_t(j), int64_t(j)});
    result[size_t(run[j])].last = int64_t(j);
  }
  return result;
}

std::vector<int32_t> unitOfOp(const AlignedSide& side) {
  std::vector<int32_t> result(side.index.size(), -1);
  for (size_t i = 0; i < side.units.size(); ++i) {
    if (side.units[i].source < 0) result[side.units[i].op] = int32_t(i);
  }
  return result;
}

}  // namespace

std::vector<int32_t> stretches(const AlignedSide& side, const std::vector<bool>& lost) {
  std::vector<int32_t> result(lost.size(), -1);
  int32_t run = -1;
  for (size_t i = 0; i < lost.size(); ++i) {
    if (!lost[i]) continue;
    const Op& op = side.index.ops()[side.units[i].op];
    const bool continues = i > 0 && lost[i - 1] &&
                           side.index.ops()[side.units[i - 1].op].step == op.step &&
                           side.index.ops()[side.units[i - 1].op].phase == op.phase;
    if (!continues) ++run;
    result[i] = run;
  }
  return result;
}

void joinReplacements(const AlignedSide& a, const AlignedSide& b, const Alignment& alignment,
                      Lost& lost, OpSets& sets) {
  std::vector<int32_t> runA = stretches(a, lost.a);
  std::vector<int32_t> runB = stretches(b, lost.b);
  if (runA.empty() || runB.empty()) return;
  std::vector<int32_t> unitOfA = unitOfOp(a), unitOfB = unitOfOp(b);
  const std::vector<Gap> gapsA = gaps(runA, alignment, int64_t(b.units.size()));
  const std::vector<Gap> unitsB = extents(runB);
  // Run of A -> run of B, by a pair of consumers that reads both at the same operand.
  std::unordered_map<int32_t, int32_t> linked;
  const auto runOf = [](const std::vector<int32_t>& run, const std::vector<int32_t>& unitOf,
                        int32_t op) {
    return op < 0 || unitOf[size_t(op)] < 0 ? -1 : run[size_t(unitOf[size_t(op)])];
  };
  for (size_t i = 0; i < a.units.size(); ++i) {
    const int32_t j = alignment.toB[i];
    if (j < 0 || a.units[i].source >= 0 || b.units[size_t(j)].source >= 0) continue;
    const Op& opA = a.index.ops()[a.units[i].op];
    const Op& opB = b.index.ops()[b.units[size_t(j)].op];
    const uint32_t count = std::min(opA.operandCount, opB.operandCount);
    for (uint32_t k = 0; k < count; ++k) {
      const int32_t ra = runOf(runA, unitOfA, a.producers[opA.firstOperand + k]);
      if (ra < 0) continue;
      const int32_t rb = runOf(runB, unitOfB, b.producers[opB.firstOperand + k]);
      if (rb >= 0 && gapsA[size_t(ra)].holds(unitsB[size_t(rb)])) linked.try_emplace(ra, rb);
    }
  }
  std::unordered_map<int32_t, uint32_t> firstA, firstB;  // run -> node
  for (size_t i = 0; i < runA.size(); ++i) {
    if (runA[i] >= 0) firstA.try_emplace(runA[i], sets.node(true, a.units[i].op));
  }
  for (size_t j = 0; j < runB.size(); ++j) {
    if (runB[j] >= 0) firstB.try_emplace(runB[j], sets.node(false, b.units[j].op));
  }
  std::unordered_map<int32_t, int32_t> backwards;
  for (const auto& [ra, rb] : linked) backwards.try_emplace(rb, ra);
  for (size_t i = 0; i < runA.size(); ++i) {
    const auto link = linked.find(runA[i]);
    if (runA[i] < 0 || link == linked.end() || backwards[link->second] != runA[i]) continue;
    sets.join(firstA[runA[i]], sets.node(true, a.units[i].op));
    sets.join(firstA[runA[i]], firstB[link->second]);
    sets.method(sets.node(true, a.units[i].op)) = Method::producers;
    lost.a[i] = false;
  }
  for (size_t j = 0; j < runB.size(); ++j) {
    const auto link = backwards.find(runB[j]);
    if (runB[j] < 0 || link == backwards.end() || linked[link->second] != runB[j]) continue;
    sets.join(firstB[runB[j]], sets.node(false, b.units[j].op));
    sets.method(sets.node(false, b.units[j].op)) = Method::producers;
    lost.b[j] = false;
  }
}

void joinTheirBackward(const AlignedSide& a, const AlignedSide& b, Lost& lost, OpSets& sets) {
  struct Ops {
    std::vector<uint32_t> a, b;  // units
  };
  std::unordered_map<uint32_t, Ops> backward;  // by the set of the forward ops
  const auto collect = [&](const AlignedSide& side, bool ofA) {
    for (uint32_t i = 0; i < side.units.size(); ++i) {
      if (!lost.of(ofA)[i]) continue;
      const int32_t forward = side.index.forwardOf(side.units[i].op);
      if (forward < 0) continue;
      const uint32_t node = sets.node(ofA, uint32_t(forward));
      if (sets.size(node) <= 2 || sets.method(node) == Method::none) continue;
      Ops& ops = backward[sets.find(node)];
      (ofA ? ops.a : ops.b).push_back(i);
    }
  };
  collect(a, true);
  collect(b, false);
  for (const auto& [set, ops] : backward) {
    if (ops.a.empty() || ops.b.empty()) continue;
    const uint32_t head = sets.node(true, a.units[ops.a.front()].op);
    const auto take = [&](const AlignedSide& side, bool ofA, const std::vector<uint32_t>& units) {
      for (const uint32_t i : units) {
        const uint32_t node = sets.node(ofA, side.units[i].op);
        sets.join(head, node);
        sets.method(node) = Method::producers;
        lost.of(ofA)[i] = false;
      }
    };
    take(a, true, ops.a);
    take(b, false, ops.b);
  }
}

}  // namespace ulpscope
