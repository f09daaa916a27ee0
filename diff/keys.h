#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "diff/dataflow.h"
#include "diff/side_index.h"

namespace ulpscope {

/// One thing to align: an op, or one original op of a compiled kernel (its provenance), so that a
/// kernel takes part in the alignment as the ops that it stands for.
struct Unit {
  static constexpr int kLevels = 7;
  uint32_t op = 0;       ///< index in OpTable::ops
  int32_t source = -1;   ///< index in Provenance::sources; -1: the op itself
  // Hashes of what the op shows; 0: unknown.
  uint32_t name = 0;     ///< of the operator, all variants
  uint32_t variant = 0;  ///< with overload
  uint32_t types = 0;    ///< of all operands
  uint32_t scalars = 0;
  uint32_t path = 0;     ///< of the module
  uint32_t leaf = 0;     ///< of the module's class
  uint32_t line = 0;     ///< of the source
  uint32_t makers = 0;       ///< what made the inputs, or which parameters they are
  uint32_t makersPlaced = 0; ///< the same, and where those were made
  Phase phase = Phase::other;
  bool movesData = false;
  bool tied = false;     ///< a source whose value the kernel writes
  bool mixed = false;    ///< a source: neither types nor scalars are known

  /// What two units must share to be the same at this level, from the strictest (0: everything the op
  /// shows, and what made its inputs) to the loosest (the operator and its operands' types).
  uint64_t key(int level) const;
};

/// How compiled kernels enter the alignment.
enum class KernelUnits : uint8_t {
  whole,    ///< as ops of their own: both sides are compiled alike
  sources,  ///< as the ops that they came from
};

/// The units of one side, in the order in which they are aligned: program order, with the sources
/// of a compiled region's kernels in the order of the original program. Regions whose kernels are
/// units (or were not seen) give no unit of their own: groups.h handles them.
/// `parameters`: this side's of ParameterNames. `mixed`: one side is compiled; compiled code hands
/// tensors on in other ways than the program, so that what made an input says nothing.
std::vector<Unit> makeUnits(const SideIndex& side, const Producers& producers,
                            const std::unordered_map<int64_t, uint64_t>& parameters,
                            KernelUnits kernels, bool mixed);

inline uint64_t Unit::key(int level) const {
  const uint64_t where = uint64_t(path) << 32 | line;
  if (mixed) {
    const uint64_t what = uint64_t(name) << 1 | uint64_t(phase == Phase::backward);
    switch (level) {
      case 0:
      case 1: return mix(mix(what, where), 1);
      case 2:
      case 3: return mix(mix(what, uint64_t(line) << 32 | leaf), 2);
      case 4: return mix(mix(what, leaf), 3);
      case 5: return mix(what, 4);
      default: return mix(name, 5);
    }
  }
  const uint64_t what = mix(uint64_t(variant) << 32 | types, uint64_t(phase));
  switch (level) {
    case 0: return mix(mix(mix(what, scalars), where), makersPlaced);
    case 1: return mix(mix(mix(what, scalars), where), 1);
    case 2: return mix(mix(what, uint64_t(leaf) << 32 | line), makers);
    // Values decide some shapes (how many rows an expert gets): the same place of the program then
    // says more than the same shape.
    case 3: return where == 0 ? mix(what, makers) : mix(mix(variant, where), uint64_t(phase));
    case 4: return mix(what, makers);
    case 5: return mix(what, leaf);
    default: return mix(uint64_t(name) << 32 | types, 5);
  }
}

/// Does an op of this kind take part in the alignment by itself?
bool isUnit(const Op& op, KernelUnits kernels);

}  // namespace ulpscope
