#include <algorithm>
#include <unordered_map>

#include "diff/align.h"

namespace ulpscope {

void alignByProducers(const SideIndex& sideA, const std::vector<Unit>& a,
                      const Producers& producersA, const SideIndex& sideB,
                      const std::vector<Unit>& b, const Producers& producersB,
                      const Settled& settled, bool mixed, Alignment& alignment) {
  // Only ops have producers; a kernel's sources keep the place that provenance gives them.
  std::vector<int32_t> partner(sideA.size(), -1);  // op of A -> op of B
  for (size_t i = 0; i < a.size(); ++i) {
    if (alignment.toB[i] >= 0) partner[a[i].op] = int32_t(b[size_t(alignment.toB[i])].op);
  }
  std::unordered_map<uint64_t, std::vector<uint32_t>> lost;  // units of B without a partner, by key
  for (uint32_t j = 0; j < b.size(); ++j) {
    if (alignment.toA[j] < 0 && !settled.b[j] && b[j].source < 0) {
      lost[mix(b[j].name, b[j].types)].push_back(j);
    }
  }
  if (lost.empty()) return;

  // In program order, so that an op that is found helps to find the ops after it.
  for (uint32_t i = 0; i < a.size(); ++i) {
    if (alignment.toB[i] >= 0 || settled.a[i] || a[i].source >= 0) continue;
    if (mixed && a[i].movesData) continue;  // compiled code has views of its own making
    const auto found = lost.find(mix(a[i].name, a[i].types));
    if (found == lost.end()) continue;
    const Op& opA = sideA.ops()[a[i].op];
    int32_t best = -1;
    int bestScore = 0;
    for (const uint32_t j : found->second) {
      if (alignment.toA[j] >= 0) continue;
      const Op& opB = sideB.ops()[b[j].op];
      if (opB.operandCount != opA.operandCount || opB.step != opA.step) continue;
      int score = 0;
      bool contradicted = false;
      for (uint32_t k = 0; k < opA.operandCount && !contradicted; ++k) {
        if (!isRead(sideA.operandsOf(opA)[k].role)) continue;
        const int32_t pa = producersA[opA.firstOperand + k];
        const int32_t pb = producersB[opB.firstOperand + k];
        if (pa >= 0 && pb >= 0 && partner[size_t(pa)] == pb) score += 4;
        else if (pa >= 0 || pb >= 0) contradicted = true;
      }
      if (contradicted || score == 0) continue;
      score += (a[i].path == b[j].path) + (a[i].line == b[j].line) + (a[i].scalars == b[j].scalars);
      if (score > bestScore) {
        bestScore = score;
        best = int32_t(j);
      }
    }
    if (best < 0) continue;
    alignment.join(i, uint32_t(best), Method::producers);
    partner[a[i].op] = int32_t(b[size_t(best)].op);
  }
}

void alignReordered(const SideIndex& sideA, const std::vector<Unit>& a, const SideIndex& sideB,
                    const std::vector<Unit>& b, const Settled& settled, Alignment& alignment) {
  constexpr int64_t kNear = 32;  // units from where it is expected
  struct Queue {
    std::vector<uint32_t> units;
    size_t next = 0;
  };
  const auto key = [](const SideIndex& side, const Unit& unit) {
    // Not the line: the sum of two gradients has that of the op whose gradient came last.
    const uint64_t what = mix(uint64_t(unit.variant) << 32 | unit.types,
                              uint64_t(unit.scalars) << 32 | unit.path);
    return mix(what, uint64_t(uint32_t(side.ops()[unit.op].step)) << 8 | uint64_t(unit.phase));
  };
  std::unordered_map<uint64_t, Queue> lost;  // of B
  for (uint32_t j = 0; j < b.size(); ++j) {
    if (alignment.toA[j] < 0 && !settled.b[j] && b[j].source < 0) {
      lost[key(sideB, b[j])].units.push_back(j);
    }
  }
  if (lost.empty()) return;
  int64_t expected = 0;
  for (uint32_t i = 0; i < a.size(); ++i) {
    if (alignment.toB[i] >= 0) {
      expected = alignment.toB[i] + 1;
      continue;
    }
    if (settled.a[i] || a[i].source >= 0) continue;
    const auto found = lost.find(key(sideA, a[i]));
    if (found == lost.end()) continue;
    Queue& queue = found->second;
    while (queue.next < queue.units.size() && queue.units[queue.next] + kNear < expected) ++queue.next;
    if (queue.next == queue.units.size() || queue.units[queue.next] > expected + kNear) continue;
    alignment.join(i, queue.units[queue.next++], Method::producers);
  }
}

}  // namespace ulpscope
