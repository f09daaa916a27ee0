#pragma once

#include <vector>

#include "diff/judge.h"

namespace ulpscope {

/// Where differences start, and which start matters most.
struct Growth {
  std::vector<int32_t> frontier;  ///< pairs, in program order
  std::vector<float> shares;      ///< of the final error, by frontier; NaN unknown
  int32_t first = -1;             ///< index in frontier
  int32_t dominant = -1;          ///< index in frontier
};

/// The frontier: origins, sources, and structural differences that no other structural difference
/// explains. May turn a propagated pair into an origin where what it adds can't come from what it
/// inherits (a huge jump in an op that does not amplify; NaN or infinity from finite values).
/// `mixed`: one side is compiled, the other is not; ops that only one side has are then expected
/// unless something else changes with them.
Growth findGrowth(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
                  const Judgement& judgement, bool mixed);

}  // namespace ulpscope
