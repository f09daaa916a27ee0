#pragma once

#include <vector>

#include "diff/allowance.h"
#include "diff/match_operands.h"

namespace ulpscope {

/// A compared input that differs: where the difference came from.
struct DifferingInput {
  enum class From : uint8_t {
    pair,     ///< the ops that made it, whose results differ too
    lost,     ///< an op that only one side has
    nobody,   ///< no recorded op made it: data, parameters
    rewired,  ///< made by ops that agree, but are not partners: another tensor is read
    hidden,   ///< its makers agree; something in between wrote it unseen
    host,     ///< another scalar, because a differing value had reached the host
  };
  From from = From::pair;
  int32_t maker = -1;  ///< the pair that made it (of A, or of B where A has none)
  bool derived = false;   ///< known by its maker alone: there are no operands to compare
  uint32_t a = 0, b = 0;  ///< operands
  bool sameForm = true;   ///< shape and dtype are expected to agree
  float error = 0;
};

/// What the values say about all pairs, beside the labels in the pairs themselves.
struct Judgement {
  std::vector<DifferingInput> inputs;   ///< of all pairs, flat
  std::vector<uint32_t> firstInput;     ///< by pair, one more than there are pairs
  /// By pair: a stretch that only one side has, and whose absence changes what the other reads.
  std::vector<bool> effective;
  /// By pair: which stretches without a partner can't be anything but a difference of the programs.
  std::vector<bool> unexplained;
  /// By pair: it differs, as far as is known, by what it left of memory that nobody had written.
  std::vector<bool> unmade;
  bool hostDiffered = false;  ///< a differing value reached the host (item(), nonzero)
  std::span<const DifferingInput> of(size_t pair) const {
    return {inputs.data() + firstInput[pair], firstInput[pair + 1] - firstInput[pair]};
  }
};

/// Labels all pairs by values. Fills label, difference, error, inherited, ulp, the deciding operands
/// and the confidence of each. `mixed`: one side is compiled, the other is not.
Judgement judge(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
                const OperandMatcher& matcher, ValueComparer& values, const Allowance& allowance,
                bool mixed);

}  // namespace ulpscope
