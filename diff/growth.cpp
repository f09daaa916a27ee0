#include "diff/growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "diff/confidence.h"
#include "diff/dataflow.h"

namespace ulpscope {
namespace {

// What an op that does not amplify may make of the relative error it inherits. Contractions and
// norms of well-scaled data stay far below; beyond it the op itself is at fault.
constexpr float kLargestGain = 2000;

/// Which origins a pair's error comes from, and to what part. The smallest parts are merged away.
struct Parts {
  struct Part {
    int32_t origin = -1;
    float share = 0;
  };
  std::array<Part, 6> parts;

  void add(int32_t origin, float share) {
    Part* least = &parts[0];
    for (Part& part : parts) {
      if (part.origin == origin) {
        part.share += share;
        return;
      }
      if (part.origin < 0) {
        part = {origin, share};
        return;
      }
      if (part.share < least->share) least = &part;
    }
    if (share > least->share) *least = {origin, share};
  }
};

class GrowthFinder {
 public:
  GrowthFinder(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
               const Judgement& judgement, bool mixed)
      : a_(a), b_(b), pairing_(pairing), judgement_(judgement), mixed_(mixed) {}

  Growth run() {
    starts_.assign(pairing_.pairs.size(), false);
    for (size_t p = 0; p < pairing_.pairs.size(); ++p) {
      promote(p);
      if (!starts(p)) continue;
      starts_[p] = true;
      growth_.frontier.push_back(int32_t(p));
    }
    attribute();
    choose();
    return std::move(growth_);
  }

 private:
  /// The op that a pair shows: A's first, or B's.
  std::pair<const AlignedSide*, uint32_t> shown(const Pair& pair) const {
    if (pair.countA > 0) return {&a_, pairing_.membersA[pair.firstA]};
    return {&b_, pairing_.membersB[pair.firstB]};
  }

  void promote(size_t p) {
    Pair& pair = pairing_.pairs[p];
    if (pair.label != Label::propagated || pair.countA != 1 || pair.countB != 1) return;
    const auto [side, member] = shown(pair);
    const Op& op = side->index.ops()[member];
    if (op.kind != OpKind::op) return;
    const OpFacts& facts = side->index.facts(op);
    if (facts.movesData) return;
    for (const DifferingInput& input : judgement_.of(p)) {
      if (input.from == DifferingInput::From::lost || input.from == DifferingInput::From::host) {
        return;
      }
    }
    const bool infinite = std::isinf(pair.error) && std::isfinite(pair.inherited);
    const bool jump = std::isfinite(pair.error) && pair.inherited > 0 && pair.inherited < 1e-3f &&
                      pair.error > kLargestGain * pair.inherited && pair.error > 1e-5f &&
                      !facts.amplifies && !isCancellation(pair, op) && isWellEstimated(p);
    if ((infinite && !facts.partial) || jump) {
      pair.label = Label::origin;
      pair.confidence = std::min(pair.confidence, confidence::kSuspect);
    }
  }

  /// Where few elements of an input differ they may fall into one sum of the sketch and cancel there:
  /// the distance is then estimated far too small. Do enough sums differ?
  bool isWellEstimated(size_t p) const {
    constexpr int kFewSums = 4;
    for (const DifferingInput& input : judgement_.of(p)) {
      if (input.derived) continue;
      const Operand& a = a_.index.operands()[input.a];
      const Operand& b = b_.index.operands()[input.b];
      const Sketch x = a_.index.reader().fingerprint(a.fingerprint).sketch;
      const Sketch y = b_.index.reader().fingerprint(b.fingerprint).sketch;
      int sums = 0;
      for (size_t k = 0; k < x.size(); ++k) sums += x[k] != y[k];
      if (sums < kFewSums) return false;
    }
    return true;
  }

  /// A sum of large terms that cancel, a product of which one part is nearly 0, a choice of small
  /// elements: then the relative error is large by right (the gradient of a bias before a
  /// normalisation would be 0 in exact arithmetic). Is the absolute error within what the inputs'
  /// error and size explain?
  bool isCancellation(const Pair& pair, const Op& op) const {
    if (pair.operandA < 0) return false;
    const auto norm = [&](const Operand& operand) {
      return std::sqrt(a_.index.reader().fingerprint(operand.fingerprint).statistics.sumSquares);
    };
    const Operand& result = a_.index.operands()[size_t(pair.operandA)];
    const double resultCount =
        double(std::max<int64_t>(1, elementCount(a_.index.reader().type(result.type))));
    double first = 0, second = 0, summed = 0;
    for (const Operand& operand : a_.index.operandsOf(op)) {
      if (!isRead(operand.role) || !operand.fingerprint) continue;
      const double size = norm(operand);
      const double count = double(elementCount(a_.index.reader().type(operand.type)));
      // |sum of n terms| <= sqrt(n) |x|; |A B| <= |A| |B| (matrices, elements): Frobenius norms.
      summed = std::max(summed, size * std::sqrt(std::max(1.0, count / resultCount)));
      second = std::max(second, std::min(size, first));
      first = std::max(first, size);
    }
    const double largest = std::max(summed, first * second);
    return pair.error * norm(result) <= kLargestGain * pair.inherited * largest;
  }

  bool starts(size_t p) {
    const Pair& pair = pairing_.pairs[p];
    switch (pair.label) {
      case Label::origin:
      case Label::source:
        return true;
      case Label::structural:
        return structureStarts(p);
      default:
        return false;
    }
  }

  bool structureStarts(size_t p) {
    const Pair& pair = pairing_.pairs[p];
    const auto [side, member] = shown(pair);
    const Op& op = side->index.ops()[member];
    const bool lonely = pair.countA == 0 || pair.countB == 0;
    if (lonely) {
      if (!judgement_.effective[p] && (!judgement_.unexplained[p] || mixed_)) return false;
      if (followsForward(*side, pair, judgement_.effective[p])) return false;
    }
    // The same change of the program shows in every step and iteration: the first stands for all.
    const Place place = side->index.place(member);
    uint64_t signature = mix(mix(side->index.variant(op), place.path), side->index.line(member));
    signature = mix(mix(signature, uint64_t(pair.difference)), uint64_t(op.phase));
    if (place.path == 0 && side->index.line(member) == 0) return true;  // nothing to tell them by
    const auto [found, fresh] = seen_.try_emplace(signature, op.step);
    return fresh || found->second == op.step;
  }

  /// The backward of ops that only one side has is there because they are. That of ops which replace
  /// others is too, but may be what makes the difference where they don't.
  bool followsForward(const AlignedSide& side, const Pair& pair, bool effective) const {
    const bool ofA = pair.countA > 0;
    const std::vector<uint32_t>& members = ofA ? pairing_.membersA : pairing_.membersB;
    const std::vector<int32_t>& pairOf = ofA ? pairing_.pairOfA : pairing_.pairOfB;
    const uint32_t first = ofA ? pair.firstA : pair.firstB;
    for (uint32_t m = first; m < first + (ofA ? pair.countA : pair.countB); ++m) {
      const int32_t forward = side.index.forwardOf(members[m]);
      if (forward < 0) continue;
      const int32_t maker = pairOf[size_t(forward)];
      if (maker < 0) continue;
      const Pair& made = pairing_.pairs[size_t(maker)];
      if (made.countA == 0 || made.countB == 0) return true;
      const bool replaced = made.countA + made.countB > 2;
      if (replaced && (!effective || starts_[size_t(maker)])) return true;
    }
    return false;
  }

  static float weight(float error) {
    if (std::isnan(error)) return 1;  // of unknown size: as large as the values
    const float bounded = std::min(error, 1e6f);
    return bounded * bounded;
  }

  /// Follows the differences forward: each op's error comes from its differing inputs, in proportion
  /// to their squared errors, and from itself where it is an origin.
  void attribute() {
    const size_t count = pairing_.pairs.size();
    growth_.shares.assign(growth_.frontier.size(), NAN);
    if (growth_.frontier.empty()) return;
    std::vector<int32_t> originOf(count, -1);
    for (size_t f = 0; f < growth_.frontier.size(); ++f) {
      originOf[size_t(growth_.frontier[f])] = int32_t(f);
    }
    std::vector<Parts> parts(count);
    std::vector<bool> carried(count, false);  // read by a later op as a difference
    for (size_t p = size_t(growth_.frontier.front()); p < count; ++p) {
      const Pair& pair = pairing_.pairs[p];
      float total = 0;
      for (const DifferingInput& input : judgement_.of(p)) {
        if (input.maker >= 0 && size_t(input.maker) < p) total += weight(input.error);
      }
      float own = 0;
      if (originOf[p] >= 0) {
        const float inherited = std::isfinite(pair.error) && pair.error > 0
                                    ? std::min(1.0f, pair.inherited / pair.error) : 0.0f;
        own = total > 0 ? 1 - inherited * inherited : 1;
        parts[p].add(originOf[p], own);
      }
      if (total <= 0) continue;
      for (const DifferingInput& input : judgement_.of(p)) {
        if (input.maker < 0 || size_t(input.maker) >= p) continue;
        carried[size_t(input.maker)] = true;
        const float part = (1 - own) * weight(input.error) / total;
        for (const Parts::Part& from : parts[size_t(input.maker)].parts) {
          if (from.origin >= 0) parts[p].add(from.origin, part * from.share);
        }
      }
    }
    // The final error: what the last step that differs leaves behind and nobody reads.
    std::vector<double> sums(growth_.frontier.size(), 0);
    double total = 0;
    int32_t last = -1;
    for (size_t p = count; p-- > 0;) {
      const Pair& pair = pairing_.pairs[p];
      if (carried[p] || parts[p].parts[0].origin < 0) continue;
      const auto [side, member] = shown(pair);
      const int32_t step = side->index.ops()[member].step;
      if (last < 0) last = step;
      if (step != last) continue;
      const double w = weight(pair.error);
      for (const Parts::Part& part : parts[p].parts) {
        if (part.origin < 0) continue;
        sums[size_t(part.origin)] += w * part.share;
        total += w * part.share;
      }
    }
    if (total <= 0) return;
    for (size_t f = 0; f < sums.size(); ++f) growth_.shares[f] = float(sums[f] / total);
  }

  /// Which of two starts is named first, before their order counts: an expected difference only
  /// where there is no other, and then ops that one side alone has and that change no value.
  int weightOf(size_t p) const {
    const Pair& pair = pairing_.pairs[p];
    if (pair.expected) return 0;
    const bool lonely = pair.countA == 0 || pair.countB == 0;
    return lonely && !judgement_.effective[p] ? 1 : 2;
  }

  void choose() {
    for (size_t f = 0; f < growth_.frontier.size(); ++f) {
      if (growth_.first < 0 ||
          weightOf(size_t(growth_.frontier[f])) >
              weightOf(size_t(growth_.frontier[size_t(growth_.first)]))) {
        growth_.first = int32_t(f);
      }
      const auto share = [&](int32_t at) {
        const float value = growth_.shares[size_t(at)];
        return std::isnan(value) ? -1.0f : value;
      };
      if (growth_.dominant < 0 || share(int32_t(f)) > share(growth_.dominant)) {
        growth_.dominant = int32_t(f);
      }
    }
  }

  const AlignedSide& a_;
  const AlignedSide& b_;
  Pairing& pairing_;
  const Judgement& judgement_;
  const bool mixed_;
  std::vector<bool> starts_;                    // by pair: on the frontier
  std::unordered_map<uint64_t, int32_t> seen_;  // structural signature -> step
  Growth growth_;
};

}  // namespace

Growth findGrowth(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
                  const Judgement& judgement, bool mixed) {
  return GrowthFinder(a, b, pairing, judgement, mixed).run();
}

}  // namespace ulpscope
