#pragma once

// Included by sources that are compiled for AVX2 and AVX-512: no header with inline functions here,
// or the linker might keep their AVX copies for everybody.
#include <stddef.h>
#include <stdint.h>

namespace ulpscope {

struct Hash128 {
  uint64_t low;
  uint64_t high;
};

/// XXH3-128 (seed 0) of a buffer: canonical, whichever instruction set runs it.
Hash128 hashBytes(const void* data, size_t bytes) noexcept;

/// XXH3-128 from the 8 accumulators that its loop over stripes leaves, for an input of so many
/// bytes, more than 240.
Hash128 hashOfAccumulators(const uint64_t* accumulators, size_t bytes) noexcept;

/// XXH3-128 of a sequence of hashes in their canonical form (16 bytes, high half first, big
/// endian), without keeping them.
class HashOfHashes {
 public:
  HashOfHashes() noexcept;
  void add(const Hash128& hash) noexcept;
  Hash128 finish() const noexcept;

 private:
  alignas(64) unsigned char state_[576];  // an XXH3_state_t
};

namespace hash_detail {
using Function = Hash128 (*)(const void* data, size_t bytes) noexcept;
Hash128 hashSse2(const void* data, size_t bytes) noexcept;
Hash128 hashAvx2(const void* data, size_t bytes) noexcept;
Hash128 hashAvx512(const void* data, size_t bytes) noexcept;
}  // namespace hash_detail

}  // namespace ulpscope
