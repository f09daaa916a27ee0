#pragma once

#include <vector>

#include "diff/allowance.h"
#include "diff/match_operands.h"

namespace ulpscope {

/// Which pairs give differing results; found out when it is asked for, and kept.
class ResultDifferences {
 public:
  ResultDifferences(const AlignedSide& a, const AlignedSide& b, const Pairing& pairing,
                    const OperandMatcher& matcher, ValueComparer& values,
                    const Allowance& allowance);

  void set(int32_t pair, bool differ);

  /// Do the results of a pair with members on both sides differ by more than is allowed? False for
  /// a stretch that only one side has.
  bool differ(int32_t pair);

  /// Does a stretch that only one side has read something that differs?
  bool carried(int32_t pair);

  /// The one or the other, whichever fits the pair.
  bool atHand(int32_t pair);

  bool isLonely(int32_t pair) const {
    const Pair& p = pairing_.pairs[size_t(pair)];
    return p.countA == 0 || p.countB == 0;
  }

 private:
  enum class Known : uint8_t { no, same, differ };

  const AlignedSide& a_;
  const AlignedSide& b_;
  const Pairing& pairing_;
  const OperandMatcher& matcher_;
  ValueComparer& values_;
  const Allowance& allowance_;
  std::vector<Known> results_, carried_;
};

}  // namespace ulpscope
