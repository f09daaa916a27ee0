// Compiled with -mavx2.
#include <xxhash.h>

#include "fingerprint/chunk_hash.h"

static_assert(XXH_VECTOR == XXH_AVX2);

namespace ulpscope::hash_detail {

Hash128 hashAvx2(const void* data, size_t bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {hash.low64, hash.high64};
}

}  // namespace ulpscope::hash_detail
