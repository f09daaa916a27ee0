#include "diff/groups.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "diff/dataflow.h"

namespace ulpscope {
namespace {

constexpr size_t kMostMembers = std::numeric_limits<uint16_t>::max();

/// Sets of ops that belong together; ops of A are 0..n-1, ops of B follow.
class Sets {
 public:
  explicit Sets(size_t n) : parent_(n), size_(n, 1) {
    std::iota(parent_.begin(), parent_.end(), uint32_t(0));
  }
  uint32_t find(uint32_t x) {
    while (parent_[x] != x) {
      parent_[x] = parent_[parent_[x]];
      x = parent_[x];
    }
    return x;
  }
  void join(uint32_t x, uint32_t y) {
    x = find(x);
    y = find(y);
    if (x == y || size_[x] + size_[y] > kMostMembers) return;
    if (size_[x] < size_[y]) std::swap(x, y);
    parent_[y] = x;
    size_[x] += size_[y];
  }

 private:
  std::vector<uint32_t> parent_;
  std::vector<uint32_t> size_;
};

uint64_t mixedKey(uint64_t name, const Place& place, uint64_t line, bool backward) {
  return mix(mix(mix(name, place.path), line), uint64_t(backward));
}

class Grouper {
 public:
  Grouper(const AlignedSide& a, const AlignedSide& b, const Alignment& alignment)
      : a_(a), b_(b), alignment_(alignment), sets_(a.index.size() + b.index.size()),
        methods_(a.index.size() + b.index.size(), Method::none),
        lostA_(a.units.size(), false), lostB_(b.units.size(), false) {}

  Pairing run(const std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>& mapped) {
    joinMapped(mapped);
    joinAligned();
    findLost();
    absorbInto(a_, lostA_, b_, alignment_.toB, true);
    absorbInto(b_, lostB_, a_, alignment_.toA, false);
    joinReplacements();
    joinStretches(a_, lostA_, 0);
    joinStretches(b_, lostB_, uint32_t(a_.index.size()));
    return collect();
  }

 private:
  uint32_t nodeA(uint32_t op) const { return op; }
  uint32_t nodeB(uint32_t op) const { return uint32_t(a_.index.size()) + op; }
  uint32_t node(bool ofA, uint32_t op) const { return ofA ? nodeA(op) : nodeB(op); }

  void joinMapped(
      const std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>& mapped) {
    for (const auto& [opsA, opsB] : mapped) {
      std::vector<uint32_t> nodes = opsA;
      for (const uint32_t op : opsB) nodes.push_back(nodeB(op));
      for (const uint32_t node : nodes) {
        methods_[node] = Method::mapping;
        sets_.join(nodes.front(), node);
      }
    }
  }

  void joinAligned() {
    for (uint32_t i = 0; i < a_.units.size(); ++i) {
      if (alignment_.toB[i] < 0) continue;
      const Unit& ua = a_.units[i];
      const Unit& ub = b_.units[size_t(alignment_.toB[i])];
      const Method method =
          ua.source >= 0 || ub.source >= 0 ? Method::provenance : alignment_.method[i];
      methods_[nodeA(ua.op)] = method;
      methods_[nodeB(ub.op)] = method;
      sets_.join(nodeA(ua.op), nodeB(ub.op));
      if (ub.source >= 0) pairing_.sourcesB[Pairing::sourceKey(ub.op, ub.source)] = ua.op;
      if (ua.source >= 0) pairing_.sourcesA[Pairing::sourceKey(ua.op, ua.source)] = ub.op;
    }
  }

  /// Wrappers only enclose; what they enclose is there. A kernel's sources may be many for one op.
  static bool isLost(const AlignedSide& side, const Unit& unit) {
    return unit.source < 0 && side.index.ops()[unit.op].kind != OpKind::wrapper;
  }

  void findLost() {
    for (size_t i = 0; i < a_.units.size(); ++i) {
      lostA_[i] = alignment_.toB[i] < 0 && isLost(a_, a_.units[i]) &&
                  methods_[nodeA(a_.units[i].op)] == Method::none;
    }
    for (size_t j = 0; j < b_.units.size(); ++j) {
      lostB_[j] = alignment_.toA[j] < 0 && isLost(b_, b_.units[j]) &&
                  methods_[nodeB(b_.units[j].op)] == Method::none;
    }
  }

  /// Ops of `eager` without a partner, in the stretch that a compiled region of the other side
  /// stands for, belong to the kernel that holds the same op of the same line, else to the region.
  void absorbInto(const AlignedSide& eager, std::vector<bool>& lost, const AlignedSide& compiled,
                  const std::vector<int32_t>& toCompiled, bool eagerIsA) {
    struct RegionSpan {
      int32_t region;                  // op index of the entry
      int64_t low = -1, high = -1;     // units of `eager` around the region, exclusive
      int64_t least = std::numeric_limits<int64_t>::max(), most = -1;  // aligned inside
    };
    std::vector<RegionSpan> spans;
    std::unordered_map<int32_t, size_t> spanOf;
    for (size_t i = 0; i < compiled.index.size(); ++i) {
      if (compiled.index.ops()[i].kind != OpKind::compiled) continue;
      if (compiled.index.compiledRegion(i) != int32_t(i)) continue;
      spanOf[int32_t(i)] = spans.size();
      spans.push_back({int32_t(i)});
    }
    if (spans.empty()) return;

    // Where the ops of the compiled side went, as units of the eager side.
    std::vector<std::pair<uint32_t, int64_t>> outside;  // op of compiled, unit of eager: in order
    const std::vector<int32_t>& back = eagerIsA ? alignment_.toA : alignment_.toB;
    for (size_t j = 0; j < compiled.units.size(); ++j) {
      if (back[j] < 0) continue;
      const Op& op = compiled.index.ops()[compiled.units[j].op];
      const int32_t region = compiled.index.compiledRegion(compiled.units[j].op);
      if (region < 0) {
        outside.emplace_back(compiled.units[j].op, back[j]);
        continue;
      }
      // A forward op that a backward region computes again says nothing about where that ran.
      const Op& eagerOp = eager.index.ops()[eager.units[size_t(back[j])].op];
      if ((eagerOp.phase == Phase::backward) != (op.phase == Phase::backward)) continue;
      RegionSpan& span = spans[spanOf[region]];
      span.least = std::min<int64_t>(span.least, back[j]);
      span.most = std::max<int64_t>(span.most, back[j]);
    }
    std::sort(outside.begin(), outside.end());
    for (RegionSpan& span : spans) {
      if (span.most >= 0) {
        // What it holds, and what is next to that without a partner.
        span.low = span.least - 1;
        span.high = span.most + 1;
        while (span.low >= 0 && lost[size_t(span.low)]) --span.low;
        while (span.high < int64_t(eager.units.size()) && lost[size_t(span.high)]) ++span.high;
        continue;
      }
      const auto after = std::lower_bound(
          outside.begin(), outside.end(), std::pair<uint32_t, int64_t>(uint32_t(span.region), -1));
      span.low = after == outside.begin() ? -1 : (after - 1)->second;
      span.high = after == outside.end() ? int64_t(eager.units.size()) : after->second;
    }
    for (RegionSpan& span : spans) {
      for (int64_t u = span.low + 1; u < span.high; ++u) {
        if (!lost[size_t(u)] || toCompiled[size_t(u)] >= 0) continue;
        // A region that ran on another step can't have absorbed it.
        const uint32_t op = eager.units[size_t(u)].op;
        if (eager.index.ops()[op].step != compiled.index.ops()[size_t(span.region)].step) continue;
        const int32_t kernel = kernelOf(eager, eager.units[size_t(u)], compiled, span.region);
        sets_.join(node(eagerIsA, op),
                   node(!eagerIsA, uint32_t(kernel >= 0 ? kernel : span.region)));
        methods_[node(eagerIsA, op)] = Method::provenance;
        methods_[node(!eagerIsA, uint32_t(kernel >= 0 ? kernel : span.region))] = Method::provenance;
        lost[size_t(u)] = false;
      }
    }
  }

  /// The kernel of the region that holds this very op (one that was written twice in the program
  /// and is computed once), or -1.
  int32_t kernelOf(const AlignedSide& eager, const Unit& unit, const AlignedSide& compiled,
                   int32_t region) {
    if (kernelsRegion_ != region || kernelsSide_ != &compiled) {
      kernelsRegion_ = region;
      kernelsSide_ = &compiled;
      kernels_.clear();
      for (size_t i = size_t(region) + 1; i < compiled.index.size(); ++i) {
        const Op& op = compiled.index.ops()[i];
        if (compiled.index.compiledRegion(i) != region) break;
        if (op.kind != OpKind::kernel) continue;
        for (const SourceOp& source :
             compiled.index.reader().provenance(op.provenance).sources) {
          const uint64_t key = mixedKey(compiled.index.name(source), compiled.index.place(source),
                                        lineOf(source.stack), source.backward);
          kernels_.try_emplace(key, int32_t(i));
          // A line whose op the compiler decomposed, or eager code did.
          kernels_.try_emplace(mixedKey(0, compiled.index.place(source), lineOf(source.stack),
                                        source.backward),
                               int32_t(i));
        }
      }
    }
    const Op& op = eager.index.ops()[unit.op];
    const Place place = eager.index.place(unit.op);
    const uint64_t line = eager.index.line(unit.op);
    const bool backward = unit.phase == Phase::backward;
    auto found = kernels_.find(mixedKey(eager.index.name(op), place, line, backward));
    if (found == kernels_.end() && line != 0 && !unit.movesData) {
      found = kernels_.find(mixedKey(0, place, line, backward));
    }
    if (found == kernels_.end() && place.path != 0 && !unit.movesData) {
      found = kernels_.find(mixedKey(0, place, 0, backward));  // its line was not kept
    }
    return found == kernels_.end() ? -1 : found->second;
  }

  /// Decompositions and replacements: in a gap between aligned neighbours, ops of A and ops of B
  /// without a partner whose results the same consumers take.
  void joinReplacements() {
    std::vector<int32_t> runA = runs(a_, lostA_);
    std::vector<int32_t> runB = runs(b_, lostB_);
    if (runA.empty() || runB.empty()) return;
    std::vector<int32_t> unitOfA = unitOfOp(a_), unitOfB = unitOfOp(b_);
    const std::vector<Gap> gapsA = gaps(runA);
    const std::vector<Gap> unitsB = extents(runB);
    // Run of A -> run of B, by a pair of consumers that reads both at the same operand.
    std::unordered_map<int32_t, int32_t> linked;
    const auto runOf = [](const std::vector<int32_t>& run, const std::vector<int32_t>& unitOf,
                          int32_t op) {
      return op < 0 || unitOf[size_t(op)] < 0 ? -1 : run[size_t(unitOf[size_t(op)])];
    };
    for (size_t i = 0; i < a_.units.size(); ++i) {
      const int32_t j = alignment_.toB[i];
      if (j < 0 || a_.units[i].source >= 0 || b_.units[size_t(j)].source >= 0) continue;
      const Op& opA = a_.index.ops()[a_.units[i].op];
      const Op& opB = b_.index.ops()[b_.units[size_t(j)].op];
      const uint32_t count = std::min(opA.operandCount, opB.operandCount);
      for (uint32_t k = 0; k < count; ++k) {
        const int32_t ra = runOf(runA, unitOfA, a_.producers[opA.firstOperand + k]);
        if (ra < 0) continue;
        const int32_t rb = runOf(runB, unitOfB, b_.producers[opB.firstOperand + k]);
        if (rb >= 0 && gapsA[size_t(ra)].holds(unitsB[size_t(rb)])) linked.try_emplace(ra, rb);
      }
    }
    std::unordered_map<int32_t, uint32_t> firstA, firstB;  // run -> node
    for (size_t i = 0; i < runA.size(); ++i) {
      if (runA[i] >= 0) firstA.try_emplace(runA[i], nodeA(a_.units[i].op));
    }
    for (size_t j = 0; j < runB.size(); ++j) {
      if (runB[j] >= 0) firstB.try_emplace(runB[j], nodeB(b_.units[j].op));
    }
    std::unordered_map<int32_t, int32_t> backwards;
    for (const auto& [ra, rb] : linked) backwards.try_emplace(rb, ra);
    for (size_t i = 0; i < runA.size(); ++i) {
      const auto link = linked.find(runA[i]);
      if (runA[i] < 0 || link == linked.end() || backwards[link->second] != runA[i]) continue;
      sets_.join(firstA[runA[i]], nodeA(a_.units[i].op));
      sets_.join(firstA[runA[i]], firstB[link->second]);
      methods_[nodeA(a_.units[i].op)] = Method::producers;
      lostA_[i] = false;
    }
    for (size_t j = 0; j < runB.size(); ++j) {
      const auto link = backwards.find(runB[j]);
      if (runB[j] < 0 || link == backwards.end() || linked[link->second] != runB[j]) continue;
      sets_.join(firstB[runB[j]], nodeB(b_.units[j].op));
      methods_[nodeB(b_.units[j].op)] = Method::producers;
      lostB_[j] = false;
    }
  }

  struct Gap {  // units of B, from first to last
    int64_t first = 0;
    int64_t last = -1;
    bool holds(const Gap& other) const { return other.first >= first && other.last <= last; }
  };

  /// For each run of A, the units of B between the partners of its neighbours.
  std::vector<Gap> gaps(const std::vector<int32_t>& run) const {
    std::vector<Gap> result;
    int64_t before = -1;
    for (size_t i = 0; i < run.size(); ++i) {
      if (alignment_.toB[i] >= 0) before = alignment_.toB[i];
      if (run[i] >= 0 && size_t(run[i]) == result.size()) {
        result.push_back({before + 1, int64_t(b_.units.size()) - 1});
      }
    }
    int64_t after = int64_t(b_.units.size());
    for (size_t i = run.size(); i-- > 0;) {
      if (alignment_.toB[i] >= 0) after = alignment_.toB[i];
      if (run[i] >= 0) result[size_t(run[i])].last = after - 1;
    }
    return result;
  }

  static std::vector<Gap> extents(const std::vector<int32_t>& run) {
    std::vector<Gap> result;
    for (size_t j = 0; j < run.size(); ++j) {
      if (run[j] < 0) continue;
      if (size_t(run[j]) == result.size()) result.push_back({int64_t(j), int64_t(j)});
      result[size_t(run[j])].last = int64_t(j);
    }
    return result;
  }

  static std::vector<int32_t> unitOfOp(const AlignedSide& side) {
    std::vector<int32_t> result(side.index.size(), -1);
    for (size_t i = 0; i < side.units.size(); ++i) {
      if (side.units[i].source < 0) result[side.units[i].op] = int32_t(i);
    }
    return result;
  }

  /// Numbers the stretches of units without a partner; -1 elsewhere. A stretch stays within one
  /// step and one phase.
  static std::vector<int32_t> runs(const AlignedSide& side, const std::vector<bool>& lost) {
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

  void joinStretches(const AlignedSide& side, const std::vector<bool>& lost, uint32_t base) {
    const std::vector<int32_t> run = runs(side, lost);
    for (size_t i = 1; i < run.size(); ++i) {
      if (run[i] >= 0 && run[i] == run[i - 1]) {
        sets_.join(base + side.units[i - 1].op, base + side.units[i].op);
      }
    }
  }

  Pairing collect() {
    const size_t nA = a_.index.size(), nB = b_.index.size();
    pairing_.pairOfA.assign(nA, -1);
    pairing_.pairOfB.assign(nB, -1);
    // Program order: A's, with ops that only B has where B had them.
    struct Place {
      int64_t a;
      int64_t b;
      uint32_t set;
    };
    std::vector<int64_t> firstA(nA + nB, -1), firstB(nA + nB, -1);
    std::vector<Place> places;
    std::vector<Phase> fused(nA + nB, Phase::other);  // of the kernel in it; other: none
    for (size_t j = 0; j < nB; ++j) {
      const Op& op = b_.index.ops()[j];
      if (op.kind != OpKind::kernel) continue;
      fused[sets_.find(nodeB(uint32_t(j)))] = op.phase == Phase::other ? Phase::forward : op.phase;
    }
    // A fused kernel stands where the last of its ops does: it may compute one from long before
    // again.
    for (size_t i = nA; i-- > 0;) {
      const uint32_t set = sets_.find(uint32_t(i));
      if (firstA[set] < 0 || fused[set] == Phase::other) {
        firstA[set] = int64_t(i);
      } else if (fused[set] != a_.index.ops()[size_t(firstA[set])].phase &&
                 fused[set] == a_.index.ops()[i].phase) {
        firstA[set] = int64_t(i);  // the last one of the kernel's own phase
      }
    }
    for (size_t i = 0; i < nA; ++i) {
      const uint32_t set = sets_.find(uint32_t(i));
      if (firstA[set] == int64_t(i)) places.push_back({int64_t(i) * 2, 0, set});
    }
    int64_t last = -1;
    for (size_t j = 0; j < nB; ++j) {
      const uint32_t set = sets_.find(nodeB(uint32_t(j)));
      if (firstA[set] >= 0) last = firstA[set];
      else if (firstB[set] < 0) places.push_back({last * 2 + 1, int64_t(j), set});
      if (firstB[set] < 0) firstB[set] = int64_t(j);
    }
    std::sort(places.begin(), places.end(), [](const Place& x, const Place& y) {
      return x.a != y.a ? x.a < y.a : x.b < y.b;
    });
    std::vector<int32_t> pairOfSet(nA + nB, -1);
    pairing_.pairs.resize(places.size());
    for (size_t p = 0; p < places.size(); ++p) pairOfSet[places[p].set] = int32_t(p);
    for (size_t i = 0; i < nA; ++i) {
      const int32_t p = pairOfSet[sets_.find(uint32_t(i))];
      pairing_.pairOfA[i] = p;
      ++pairing_.pairs[size_t(p)].countA;
    }
    for (size_t j = 0; j < nB; ++j) {
      const int32_t p = pairOfSet[sets_.find(nodeB(uint32_t(j)))];
      pairing_.pairOfB[j] = p;
      ++pairing_.pairs[size_t(p)].countB;
    }
    uint32_t atA = 0, atB = 0;
    for (Pair& pair : pairing_.pairs) {
      pair.firstA = atA;
      pair.firstB = atB;
      atA += pair.countA;
      atB += pair.countB;
      pair.countA = pair.countB = 0;
    }
    pairing_.membersA.resize(nA);
    pairing_.membersB.resize(nB);
    for (size_t i = 0; i < nA; ++i) {
      Pair& pair = pairing_.pairs[size_t(pairing_.pairOfA[i])];
      pairing_.membersA[pair.firstA + pair.countA++] = uint32_t(i);
      pair.method = stronger(pair.method, methods_[i]);
    }
    for (size_t j = 0; j < nB; ++j) {
      Pair& pair = pairing_.pairs[size_t(pairing_.pairOfB[j])];
      pairing_.membersB[pair.firstB + pair.countB++] = uint32_t(j);
      pair.method = stronger(pair.method, methods_[nodeB(uint32_t(j))]);
    }
    for (Pair& pair : pairing_.pairs) {
      if (pair.countA == 0 || pair.countB == 0) pair.method = Method::none;
    }
    return std::move(pairing_);
  }

  /// Of a group, the method that says most about how it came together.
  static Method stronger(Method x, Method y) {
    const auto rank = [](Method method) {
      switch (method) {
        case Method::mapping: return 7;
        case Method::provenance: return 6;
        case Method::coarse: return 5;
        case Method::producers: return 4;
        case Method::edit: return 3;
        case Method::anchor: return 2;
        case Method::merkle: return 1;
        case Method::none: return 0;
      }
      return 0;
    };
    return rank(x) >= rank(y) ? x : y;
  }

  const AlignedSide& a_;
  const AlignedSide& b_;
  const Alignment& alignment_;
  Sets sets_;
  std::vector<Method> methods_;  // by node
  std::vector<bool> lostA_, lostB_;  // by unit: no partner anywhere yet
  Pairing pairing_;
  // kernelOf's table of the last region.
  int32_t kernelsRegion_ = -1;
  const AlignedSide* kernelsSide_ = nullptr;
  std::unordered_map<uint64_t, int32_t> kernels_;
};

}  // namespace

Pairing makePairs(
    const AlignedSide& a, const AlignedSide& b, const Alignment& alignment,
    const std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>& mapped) {
  return Grouper(a, b, alignment).run(mapped);
}

}  // namespace ulpscope
