#pragma once

#include <cstdint>

#include "fingerprint/fingerprint.h"
#include "fingerprint/sketch_hash.h"

namespace ulpscope {

/// Running statistics and sketch of one tensor; chunks are added in order.
/// docs/fingerprint.md states the order of every addition: it is the same on all instruction sets.
struct Accumulator {
  Statistics statistics;
  /// [rotation][lane]: bucket(row, lane) = lane xor rotation.
  alignas(64) double sketch[kLanes][kLanes];
};

void start(Accumulator& accumulator) noexcept;

/// Adds a chunk of `elements` elements at `data`, whose first component has the index
/// `firstComponent`, a multiple of kBlockComponents.
void accumulate(Accumulator& accumulator, const void* data, DType dtype, int64_t elements,
                uint64_t firstComponent, bool withSketch) noexcept;

void finish(const Accumulator& accumulator, Fingerprint& result) noexcept;

}  // namespace ulpscope
