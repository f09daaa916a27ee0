#pragma once

#include <cstdint>

#include "fingerprint/chunk_hash.h"
#include "fingerprint/fingerprint.h"
#include "fingerprint/sketch_hash.h"

namespace ulpscope {

/// Running statistics and sketch of one tensor; its chunks are added in order.
/// docs/fingerprint.md states the order of every addition, the same on all instruction sets.
struct Accumulator {
  Accumulator() noexcept;

  Statistics statistics;
  /// A chunk's infinities or NaNs make its fast path start over, so the next one avoids that path.
  bool expectNonFinite = false;
  /// Rotations whose row of `sketch` is valid; the others stand for zeros.
  uint32_t rotations = 0;
  /// [rotation][lane]: the components of bucket lane xor rotation.
  alignas(64) double sketch[kLanes][kLanes];
};

/// What accumulate() reads.
struct Chunk {
  const void* data;
  DType dtype;
  int64_t components;
  uint64_t firstComponent;  ///< index in the tensor; a multiple of kBlockComponents
  /// Bytes from each address read to one that will be read soon, to be prefetched; 0 for none.
  int64_t prefetchDistance = 0;
};

/// Real components of a stored element, as statistics see it.
constexpr int64_t componentsPerElement(DType dtype) {
  switch (dtype) {
    case DType::Complex32:
    case DType::Complex64:
    case DType::Complex128:
    case DType::Bits16:
      return 2;  // Bits16: two raw bytes
    default:
      return 1;
  }
}

/// Adds a chunk: its statistics and, if asked, its sketch. Where the chunk's hash, that of
/// hashBytes(), can be had in the same loop, it is put into `hash` and true is returned.
bool accumulate(Accumulator& accumulator, const Chunk& chunk, bool withSketch,
                Hash128& hash) noexcept;

/// Statistics and sketch, and the sums of buckets, in plain C++, for processors without SSE4.
void accumulatePlain(Accumulator& accumulator, const Chunk& chunk, bool withSketch) noexcept;

Sketch sketchPlain(const Accumulator& accumulator) noexcept;

/// The sums of the buckets.
Sketch sketchOf(const Accumulator& accumulator) noexcept;

/// The instruction set that accumulate() uses.
const char* accumulateTarget() noexcept;

}  // namespace ulpscope
