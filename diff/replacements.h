#pragma once

#include "diff/op_sets.h"

namespace ulpscope {

/// Numbers the stretches of units without a partner; -1 elsewhere. A stretch stays within one step
/// and one phase.
std::vector<int32_t> stretches(const AlignedSide& side, const std::vector<bool>& lost);

/// Decompositions and replacements: in a gap between aligned neighbours, ops of A and ops of B
/// without a partner whose results the same consumers take. They are then no longer lost.
void joinReplacements(const AlignedSide& a, const AlignedSide& b, const Alignment& alignment,
                      Lost& lost, OpSets& sets);

/// The backward of a replacement: ops without a partner that differentiate ops of one group. After
/// joinReplacements.
void joinTheirBackward(const AlignedSide& a, const AlignedSide& b, Lost& lost, OpSets& sets);

}  // namespace ulpscope
