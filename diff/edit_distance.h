#pragma once

#include "diff/sequence.h"

namespace ulpscope {

/// Costs of the soft edit distance. Two units of the same operator pair where that costs less than
/// leaving both without a partner.
struct EditCosts {
  float gap = 1.0f;           ///< a unit without a partner
  float gapMovesData = 0.6f;  ///< a view or a copy without a partner: compilers add and drop them
  float variant = 0.1f;       ///< another overload, in-place or out= form
  float types = 0.45f;        ///< operands of other shapes or dtypes
  float scalars = 0.2f;       ///< other scalar arguments
  float path = 0.3f;          ///< another module path
  float leaf = 0.3f;          ///< and another class of module
  float line = 0.2f;          ///< another source line
  float phase = 0.6f;         ///< forward against backward
};

/// What pairing these two costs; infinite for different operators.
float pairCost(const Unit& a, const Unit& b, const EditCosts& costs);

/// Aligns a window at the least cost. Needs a.size() * b.size() bytes.
void alignByEditDistance(const std::vector<Unit>& a, const std::vector<Unit>& b, Window window,
                         Alignment& alignment);

}  // namespace ulpscope
