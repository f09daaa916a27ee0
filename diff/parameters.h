#pragma once

#include <cstdint>
#include <unordered_map>

#include "diff/side_index.h"

namespace ulpscope {

/// Names that two runs share for their parameters, by storage; a parameter that is not in it has no
/// certain partner.
struct ParameterNames {
  std::unordered_map<int64_t, uint64_t> a;
  std::unordered_map<int64_t, uint64_t> b;
};

/// Finds which parameter of A is which of B by structure alone: the optimizer, the backward and the
/// forward of the first step each touch the parameters in some order; a phase that touches as many
/// of the same types on both sides gives the pairing, the optimizer's before the others'. (One
/// missing op spoils the order of one phase.)
ParameterNames matchParameters(const SideIndex& a, const SideIndex& b);

}  // namespace ulpscope
