#pragma once

#include "diff/op_sets.h"

namespace ulpscope {

/// Ops of the eager side without a partner, in the stretch that a compiled region of the other side
/// stands for, join the kernel that holds the same op of the same line, else the region. They are
/// then no longer lost. Does nothing where the other side has no compiled region.
void absorbIntoRegions(const AlignedSide& eager, const AlignedSide& compiled, bool eagerIsA,
                       const Alignment& alignment, Lost& lost, OpSets& sets);

}  // namespace ulpscope
