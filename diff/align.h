#pragma once

#include <functional>
#include <vector>

#include "diff/sequence.h"

namespace ulpscope {

/// Units that the user's mapping file has settled already (true: leave out of the alignment).
struct Settled {
  std::vector<bool> a;
  std::vector<bool> b;
};

/// Aligns two runs from the top down: equal steps as a whole by their digest, other steps with the
/// step of the same number, inside a step each thread with its counterpart, and then unit by unit
/// (sequence.h). `progress` is called with a share from 0 to 1.
void alignRuns(const SideIndex& sideA, const std::vector<Unit>& a, const SideIndex& sideB,
               const std::vector<Unit>& b, const Settled& settled, Alignment& alignment,
               Budget& budget, const std::function<void(double)>& progress);

/// Pairs what compiled code holds with the program's ops by what provenance says: operator, module
/// and source line (and, where known, the result's type), the n-th with the n-th, within one step and
/// in any order: a compiler moves ops about. Before alignRuns, which leaves these pairs alone.
void alignByProvenance(const SideIndex& sideA, const std::vector<Unit>& a, const SideIndex& sideB,
                       const std::vector<Unit>& b, Settled& settled, Alignment& alignment);

/// Finds partners for units that lost their place (reordered, moved to another step or thread): an
/// op whose inputs' producers are partners of the other op's inputs' producers, and of the same key.
void alignByProducers(const SideIndex& sideA, const std::vector<Unit>& a,
                      const Producers& producersA, const SideIndex& sideB,
                      const std::vector<Unit>& b, const Producers& producersB,
                      const Settled& settled, bool mixed, Alignment& alignment);

/// Pairs what is still without a partner with an op of the same step, phase, module, types and
/// scalars a few units away: operands that were summed in another order, say. What they read then
/// tells that they are not the same.
void alignReordered(const SideIndex& sideA, const std::vector<Unit>& a, const SideIndex& sideB,
                    const std::vector<Unit>& b, const Settled& settled, Alignment& alignment);

}  // namespace ulpscope
