#include "fingerprint/chunk_hash.h"

#include <xxhash.h>

#include <new>

#include "fingerprint/xxh3_secret.h"

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

namespace {

uint64_t merge(const uint64_t* accumulators, size_t secretAt, uint64_t start) {
  uint64_t result = start;
  for (size_t i = 0; i < 8; i += 2) {
    const unsigned __int128 product =
        static_cast<unsigned __int128>(accumulators[i] ^ xxh3SecretWord(secretAt + 8 * i)) *
        (accumulators[i + 1] ^ xxh3SecretWord(secretAt + 8 * i + 8));
    result += static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  result ^= result >> 37;
  result *= 0x165667919E3779F9ULL;
  return result ^ (result >> 32);
}

}  // namespace

Hash128 hashOfAccumulators(const uint64_t* accumulators, size_t bytes) noexcept {
  constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
  constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
  return {merge(accumulators, 11, bytes * kPrime1),
          merge(accumulators, kXxh3Secret.size() - 64 - 11, ~(bytes * kPrime2))};
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
