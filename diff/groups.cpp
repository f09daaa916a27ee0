#include "diff/groups.h"

#include <algorithm>

#include "diff/absorb.h"
#include "diff/replacements.h"

namespace ulpscope {
namespace {

class Grouper {
 public:
  Grouper(const AlignedSide& a, const AlignedSide& b, const Alignment& alignment)
      : a_(a), b_(b), alignment_(alignment), sets_(a.index.size(), b.index.size()),
        lost_{std::vector<bool>(a.units.size(), false), std::vector<bool>(b.units.size(), false)} {}

  Pairing run(const std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>& mapped) {
    joinMapped(mapped);
    joinAligned();
    findLost();
    absorbIntoRegions(a_, b_, true, alignment_, lost_, sets_);
    absorbIntoRegions(b_, a_, false, alignment_, lost_, sets_);
    joinReplacements(a_, b_, alignment_, lost_, sets_);
    joinTheirBackward(a_, b_, lost_, sets_);
    joinStretches(a_, true);
    joinStretches(b_, false);
    return collect();
  }

 private:
  uint32_t nodeA(uint32_t op) const { return sets_.node(true, op); }
  uint32_t nodeB(uint32_t op) const { return sets_.node(false, op); }

  void joinMapped(
      const std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>& mapped) {
    for (const auto& [opsA, opsB] : mapped) {
      std::vector<uint32_t> nodes = opsA;
      for (const uint32_t op : opsB) nodes.push_back(nodeB(op));
      for (const uint32_t node : nodes) {
        sets_.method(node) = Method::mapping;
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
      sets_.method(nodeA(ua.op)) = method;
      sets_.method(nodeB(ub.op)) = method;
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
      lost_.a[i] = alignment_.toB[i] < 0 && isLost(a_, a_.units[i]) &&
                  sets_.method(nodeA(a_.units[i].op)) == Method::none;
    }
    for (size_t j = 0; j < b_.units.size(); ++j) {
      lost_.b[j] = alignment_.toA[j] < 0 && isLost(b_, b_.units[j]) &&
                  sets_.method(nodeB(b_.units[j].op)) == Method::none;
    }
  }

  void joinStretches(const AlignedSide& side, bool ofA) {
    const std::vector<int32_t> stretch = stretches(side, lost_.of(ofA));
    for (size_t i = 1; i < stretch.size(); ++i) {
      if (stretch[i] >= 0 && stretch[i] == stretch[i - 1]) {
        sets_.join(sets_.node(ofA, side.units[i - 1].op), sets_.node(ofA, side.units[i].op));
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
      pair.method = stronger(pair.method, sets_.method(uint32_t(i)));
    }
    for (size_t j = 0; j < nB; ++j) {
      Pair& pair = pairing_.pairs[size_t(pairing_.pairOfB[j])];
      pairing_.membersB[pair.firstB + pair.countB++] = uint32_t(j);
      pair.method = stronger(pair.method, sets_.method(nodeB(uint32_t(j))));
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
  OpSets sets_;
  Lost lost_;  // no partner anywhere yet
  Pairing pairing_;
};

}  // namespace

Pairing makePairs(
    const AlignedSide& a, const AlignedSide& b, const Alignment& alignment,
    const std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>& mapped) {
  return Grouper(a, b, alignment).run(mapped);
}

}  // namespace ulpscope
