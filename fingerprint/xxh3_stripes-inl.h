// XXH3-128 of a whole chunk, a stripe of 64 bytes at a time, so that statistics can be computed
// from the same loads; for one instruction set at a time. What xxHash's header offers takes a
// buffer and leaves nothing in registers. Its specification is section "XXH3 algorithm (for large
// inputs)" of https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md; tests compare it with
// xxHash.

// NOLINTNEXTLINE(llvm-header-guard): Highway includes it once for each instruction set.
#if defined(ULPSCOPE_XXH3_STRIPES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_XXH3_STRIPES_INL_H
#undef ULPSCOPE_XXH3_STRIPES_INL_H
#else
#define ULPSCOPE_XXH3_STRIPES_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "fingerprint/component_loaders-inl.h"
#include "fingerprint/xxh3_secret.h"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// Part of the 8 accumulators: those of some lanes, in one vector of the size of V32.
using DHash = hn::Repartition<uint64_t, D64>;
using VHash = hn::Vec<DHash>;

HWY_INLINE VHash addStripe(VHash accumulators, VHash data, const uint64_t* secret) {
  const DHash d;
  const hn::Repartition<uint32_t, DHash> d32;
  const auto key = hn::BitCast(d32, hn::Xor(data, hn::Load(d, secret)));
  const auto product = hn::MulEven(key, hn::Shuffle2301(key));
  return hn::Add(accumulators, hn::Add(product, hn::Shuffle01(data)));
}

HWY_INLINE VHash scramble(VHash accumulators, const uint64_t* secret) {
  const DHash d;
  const hn::Repartition<uint32_t, DHash> d32;
  const auto prime = hn::Set(d32, 0x9E3779B1U);
  const auto mixed =
      hn::Xor(hn::Xor(accumulators, hn::ShiftRight<47>(accumulators)), hn::Load(d, secret));
  const auto low = hn::MulEven(hn::BitCast(d32, mixed), prime);
  const auto high = hn::MulEven(hn::BitCast(d32, hn::ShiftRight<32>(mixed)), prime);
  return hn::Add(low, hn::ShiftLeft<32>(high));
}

#endif  // not plain

}  // namespace ulpscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ULPSCOPE_XXH3_STRIPES_INL_H
