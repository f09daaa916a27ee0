#pragma once

#include <string>

#include "diff/side_index.h"

namespace ulpscope {

/// The scalar argument of two ops that differs first: its name and both values; empty name: none.
/// A Python number that torch made a tensor counts as a scalar.
struct ScalarDifference {
  std::string argument;
  std::string a;
  std::string b;
};
ScalarDifference scalarDifference(const SideIndex& a, const Op& x, const SideIndex& b, const Op& y);

inline bool isNumber(const Operand& operand) { return (operand.flags & kWrappedNumber) != 0; }

}  // namespace ulpscope
