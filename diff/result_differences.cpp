#include "diff/result_differences.h"

namespace ulpscope {

ResultDifferences::ResultDifferences(const AlignedSide& a, const AlignedSide& b,
                                     const Pairing& pairing, const OperandMatcher& matcher,
                                     ValueComparer& values, const Allowance& allowance)
    : a_(a), b_(b), pairing_(pairing), matcher_(matcher), values_(values), allowance_(allowance),
      results_(pairing.pairs.size(), Known::no) {}

void ResultDifferences::set(int32_t pair, bool differ) {
  results_[size_t(pair)] = differ ? Known::differ : Known::same;
}

bool ResultDifferences::differ(int32_t pair) {
  Known& known = results_[size_t(pair)];
  if (known == Known::no && !isLonely(pair)) {
    known = Known::same;
    const uint32_t op = pairing_.membersA[pairing_.pairs[size_t(pair)].firstA];
    std::vector<OperandMatch> matches;
    matcher_.matchResults(pair, matches);
    for (const OperandMatch& match : matches) {
      const Compared compared = values_.compare(a_.index.operands()[match.a],
                                                b_.index.operands()[match.b], match.sameForm);
      if (compared.differs() && !allowance_.accepts(match.a, op, compared)) known = Known::differ;
    }
  }
  return known == Known::differ;
}

bool ResultDifferences::carried(int32_t pair) {
  if (carried_.empty()) carried_.assign(pairing_.pairs.size(), Known::no);
  Known& known = carried_[size_t(pair)];
  if (known != Known::no) return known == Known::differ;
  known = Known::same;  // also ends a cycle, which only a damaged trace has
  const Pair& own = pairing_.pairs[size_t(pair)];
  const bool ofA = own.countA > 0;
  const AlignedSide& side = ofA ? a_ : b_;
  const std::vector<int32_t>& pairOf = ofA ? pairing_.pairOfA : pairing_.pairOfB;
  const std::vector<uint32_t>& members = ofA ? pairing_.membersA : pairing_.membersB;
  const uint32_t first = ofA ? own.firstA : own.firstB;
  for (uint32_t m = first; m < first + (ofA ? own.countA : own.countB); ++m) {
    const Op& op = side.index.ops()[members[m]];
    for (uint32_t k = op.firstOperand; k < op.firstOperand + op.operandCount; ++k) {
      const int32_t producer = side.producers[k];
      if (producer < 0) continue;
      const int32_t maker = pairOf[size_t(producer)];
      if (maker < 0 || maker == pair) continue;
      if (atHand(maker)) {
        carried_[size_t(pair)] = Known::differ;
        return true;
      }
    }
  }
  return false;
}

bool ResultDifferences::atHand(int32_t pair) {
  return isLonely(pair) ? carried(pair) : differ(pair);
}

}  // namespace ulpscope
