#include <unordered_map>

#include "diff/align.h"
#include "diff/dataflow.h"

namespace ulpscope {
namespace {

class ProvenanceAligner {
 public:
  ProvenanceAligner(const SideIndex& sideA, const std::vector<Unit>& a, const SideIndex& sideB,
                    const std::vector<Unit>& b, Settled& settled, Alignment& alignment)
      : sideA_(sideA), a_(a), sideB_(sideB), b_(b), settled_(settled), alignment_(alignment) {}

  void run() {
    inA_ = compiled(sideA_, a_);
    inB_ = compiled(sideB_, b_);
    // First the ops whose values leave their kernels; one that a kernel only computes again, or a
    // part of which was moved into another, must not take their places.
    for (const bool untied : {false, true}) {
      for (int round = 0; round < kRounds; ++round) pairRound(round, untied);
    }
    // A source that has a place and no partner by it is an op of the compiler's own making, or one
    // that stands in another kernel too: order would only guess.
    const auto settleRest = [](const std::vector<Unit>& units, const std::vector<int32_t>& partner,
                               std::vector<bool>& settled) {
      for (size_t i = 0; i < units.size(); ++i) {
        const bool placed = units[i].path != 0 || units[i].line != 0;
        if (units[i].source >= 0 && partner[i] < 0 && placed) settled[i] = true;
      }
    };
    settleRest(a_, alignment_.toB, settled_.a);
    settleRest(b_, alignment_.toA, settled_.b);
  }

 private:
  static constexpr int kRounds = 5;

  static std::vector<bool> compiled(const SideIndex& side, const std::vector<Unit>& units) {
    std::vector<bool> result(units.size());
    for (size_t i = 0; i < units.size(); ++i) {
      result[i] = units[i].source >= 0 || side.compiledRegion(units[i].op) >= 0;
    }
    return result;
  }

  static bool isUntied(const Unit& unit) { return unit.source >= 0 && !unit.tied; }

  /// Dtype and size of the first result, and which inputs are parameters; 0 where a source does not
  /// know it. Tells the two products of a linear layer's backward apart.
  static uint64_t signature(const SideIndex& side, const Unit& unit) {
    if (unit.source >= 0) return 0;
    uint64_t type = 0, parameters = 1;
    for (const Operand& operand : side.operandsOf(side.ops()[unit.op])) {
      if (type == 0 && isWritten(operand.role)) type = side.type(operand.type);
      if (operand.role == Role::input) {
        parameters = parameters << 1 | uint64_t(side.isParameter(operand.storage));
      }
    }
    return mix(type, parameters);
  }

  /// What two units must share in this round; 0: not enough is known of the unit.
  static uint64_t key(const SideIndex& side, const Unit& unit, int round) {
    const uint64_t step = uint64_t(uint32_t(side.ops()[unit.op].step));
    const uint64_t what = mix(uint64_t(unit.name) << 1 | uint64_t(unit.phase == Phase::backward), step);
    const uint64_t type = signature(side, unit);
    switch (round) {
      case 0:  // the same line of the same module, with the same result
        if (unit.path == 0 || unit.line == 0 || type == 0) return 0;
        return mix(mix(what, uint64_t(unit.path) << 32 | unit.line), type);
      case 1:
        if (unit.path == 0 || unit.line == 0) return 0;
        return mix(what, uint64_t(unit.path) << 32 | unit.line);
      case 2:
        // Views abound in a module: without the line one is as good as another.
        return unit.path == 0 || unit.movesData ? 0 : mix(mix(what, unit.path), 2);
      case 3:  // code outside any module
        return unit.line == 0 ? 0 : mix(mix(what, unit.line), 3);
      default:  // an extern kernel of which no source was kept
        return type == 0 || unit.movesData ? 0 : mix(mix(what, type), 4);
    }
  }

  void pairRound(int round, bool untied) {
    std::unordered_map<uint64_t, std::vector<uint32_t>> places;
    for (uint32_t j = 0; j < b_.size(); ++j) {
      if (alignment_.toA[j] >= 0 || settled_.b[j] || (!untied && isUntied(b_[j]))) continue;
      if (const uint64_t k = key(sideB_, b_[j], round)) places[k].push_back(j);
    }
    std::unordered_map<uint64_t, size_t> next;
    for (uint32_t i = 0; i < a_.size(); ++i) {
      if (alignment_.toB[i] >= 0 || settled_.a[i] || (!untied && isUntied(a_[i]))) continue;
      const uint64_t k = key(sideA_, a_[i], round);
      if (k == 0) continue;
      const auto found = places.find(k);
      if (found == places.end()) continue;
      size_t& at = next[k];
      if (at >= found->second.size()) continue;
      const uint32_t j = found->second[at++];
      // Ops that the dispatcher saw on both sides keep their order; alignRuns does better there.
      if (!inA_[i] && !inB_[j]) continue;
      alignment_.join(i, j, Method::provenance);
      settled_.a[i] = true;
      settled_.b[j] = true;
    }
  }

  const SideIndex& sideA_;
  const std::vector<Unit>& a_;
  const SideIndex& sideB_;
  const std::vector<Unit>& b_;
  Settled& settled_;
  Alignment& alignment_;
  std::vector<bool> inA_, inB_;
};

}  // namespace

void alignByProvenance(const SideIndex& sideA, const std::vector<Unit>& a, const SideIndex& sideB,
                       const std::vector<Unit>& b, Settled& settled, Alignment& alignment) {
  ProvenanceAligner(sideA, a, sideB, b, settled, alignment).run();
}

}  // namespace ulpscope
