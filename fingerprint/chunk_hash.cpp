#include "fingerprint/chunk_hash.h"

#include <xxhash.h>

#include <new>

namespace ulpscope {
namespace hash_detail {

Hash128 hashSse2(const void* data, size_t bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {hash.low64, hash.high64};
}

}  // namespace hash_detail

namespace {

hash_detail::Function choose() noexcept {
#ifdef ULPSCOPE_HASH_X86
  __builtin_cpu_init();  // may run before the runtime's own constructors
  if (__builtin_cpu_supports("avx512f")) return hash_detail::hashAvx512;
  if (__builtin_cpu_supports("avx2")) return hash_detail::hashAvx2;
#endif
  return hash_detail::hashSse2;
}

const XXH3_state_t* asState(const unsigned char* bytes) {
  return std::launder(reinterpret_cast<const XXH3_state_t*>(bytes));
}

}  // namespace

Hash128 hashBytes(const void* data, size_t bytes) noexcept {
  static const hash_detail::Function function = choose();
  return function(data, bytes);
}

static_assert(sizeof(HashOfHashes) == sizeof(XXH3_state_t));
static_assert(alignof(HashOfHashes) == alignof(XXH3_state_t));

HashOfHashes::HashOfHashes() noexcept {
  XXH3_128bits_reset(new (state_) XXH3_state_t);
}

void HashOfHashes::add(const Hash128& hash) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH128_hash_t{hash.low, hash.high});
  XXH3_128bits_update(const_cast<XXH3_state_t*>(asState(state_)), canonical.digest,
                      sizeof canonical.digest);
}

Hash128 HashOfHashes::finish() const noexcept {
  const XXH128_hash_t hash = XXH3_128bits_digest(asState(state_));
  return {hash.low64, hash.high64};
}

}  // namespace ulpscope
