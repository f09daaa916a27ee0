#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "diff/sequence.h"

namespace ulpscope {

/// The pairs of a DiffResult before values have judged them, and what the judge needs beside them.
struct Pairing {
  std::vector<Pair> pairs;
  std::vector<uint32_t> membersA;
  std::vector<uint32_t> membersB;
  std::vector<int32_t> pairOfA;  ///< by op: its pair, or -1 (none of the ops that are compared)
  std::vector<int32_t> pairOfB;
  /// Ops of the other side that a kernel's sources were aligned with: {kernel, source} -> op.
  /// `kernelsA` for kernels of A.
  std::unordered_map<uint64_t, uint32_t> sourcesA, sourcesB;

  static uint64_t sourceKey(uint32_t kernel, int32_t source) {
    return uint64_t(kernel) << 32 | uint32_t(source);
  }
};

struct AlignedSide {
  const SideIndex& index;
  const std::vector<Unit>& units;
  const Producers& producers;
};

/// Turns aligned units into pairs: 1:1; a kernel with all ops whose sources it holds; what a compiled
/// region absorbed (views, values fused away) with the region; neighbours without a partner that
/// feed the same consumers from the same producers (a decomposition, a replacement) with each other;
/// and the rest as stretches that only one side has.
/// `mapped`: groups of op indices {of A, of B} that the user's mapping settled.
Pairing makePairs(const AlignedSide& a, const AlignedSide& b, const Alignment& alignment,
                  const std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>& mapped);

}  // namespace ulpscope
