#pragma once

#include <cstdint>
#include <vector>

#include "diff/side_index.h"

namespace ulpscope {

/// One thing to align: an op, or one original op of a compiled kernel (its provenance), so that a
/// kernel takes part in the alignment as the ops that it stands for.
struct Unit {
  static constexpr int kKeys = 4;
  /// From the strictest to the loosest: everything the op itself shows, and what made its inputs;
  /// the op itself; without source line, path and scalars; the operator and its operands' types.
  uint64_t keys[kKeys] = {};
  uint32_t op = 0;       ///< index in OpTable::ops
  int32_t source = -1;   ///< index in Provenance::sources; -1: the op itself
  uint32_t name = 0;     ///< hashes of the parts, for the soft comparison
  uint32_t variant = 0;
  uint32_t types = 0;    ///< 0: unknown
  uint32_t scalars = 0;  ///< 0: unknown
  uint32_t path = 0;
  uint32_t leaf = 0;
  uint32_t line = 0;     ///< 0: unknown
  Phase phase = Phase::other;
  bool movesData = false;
};

/// How compiled kernels enter the alignment.
enum class KernelUnits : uint8_t {
  whole,    ///< as ops of their own: both sides are compiled alike
  sources,  ///< as the ops that they came from
};

/// The units of one side, in the order in which they are aligned: program order, with the sources
/// of a compiled region's kernels in the order of the original program. Regions whose kernels are
/// units (or were not seen) give no unit of their own: groups.h handles them.
/// `mixed`: the other side may hold sources, of which neither types nor scalars are known.
std::vector<Unit> makeUnits(const SideIndex& side, const std::vector<int32_t>& producers,
                            KernelUnits kernels, bool mixed);

/// Does an op of this kind take part in the alignment by itself?
bool isUnit(const Op& op, KernelUnits kernels);

}  // namespace ulpscope
