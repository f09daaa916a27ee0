// Statistics and sketch of a block of components, for one instruction set at a time. Every sum is
// over fixed lanes in a fixed order, so that all of them give the same bits.

// NOLINTNEXTLINE(llvm-header-guard): Highway includes it once for each instruction set.
#if defined(ULPSCOPE_ACCUMULATE_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_ACCUMULATE_KERNEL_INL_H
#undef ULPSCOPE_ACCUMULATE_KERNEL_INL_H
#else
#define ULPSCOPE_ACCUMULATE_KERNEL_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "fingerprint/chunk_state.h"
#include "fingerprint/component_loaders-inl.h"
#include "fingerprint/sketch_hash.h"
#include "fingerprint/xxh3_stripes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// Vectors of 1 and -1: a bit set means minus. Multiplying by them is exact, so that a fused
// multiply-add is one instruction instead of flipping signs and adding, with the same result.
#if HWY_CAP_GE512
inline constexpr size_t kSignLanes = 8;
#elif HWY_CAP_GE256
inline constexpr size_t kSignLanes = 4;
#else
inline constexpr size_t kSignLanes = 2;
#endif
struct SignTable {
  alignas(64) double signs[1 << kSignLanes][kSignLanes];
  constexpr SignTable() : signs{} {
    for (size_t bits = 0; bits < (1 << kSignLanes); ++bits) {
      for (size_t l = 0; l < kSignLanes; ++l) signs[bits][l] = bits >> l & 1 ? -1 : 1;
    }
  }
};
inline constexpr SignTable kSignTable;

// Signs from the low bits.
HWY_INLINE V64 signVector(uint32_t bits) {
  return hn::Load(D64(), kSignTable.signs[bits & ((1U << kSignLanes) - 1)]);
}

struct Sums {
  V64 sum;
  V64 negative;
  V64 squares;
};

template <typename T>
HWY_INLINE Sums loadSums(const ChunkState<T>& state, size_t lane) {
  const D64 d;
  return {hn::Load(d, &state.sum[lane]), hn::Load(d, &state.negative[lane]),
          hn::Load(d, &state.squares[lane])};
}

template <typename T>
HWY_INLINE void storeSums(const Sums& sums, ChunkState<T>& state, size_t lane) {
  const D64 d;
  hn::Store(sums.sum, d, &state.sum[lane]);
  hn::Store(sums.negative, d, &state.negative[lane]);
  hn::Store(sums.squares, d, &state.squares[lane]);
}

// Which lanes are below 0, where the instruction set has masks; else found anew in addTo().
struct Negatives {
#if HWY_CAP_GE512
  explicit Negatives(V32 x) : mask(_mm512_movepi32_mask(_mm512_castps_si512(x.raw))) {}
  explicit Negatives(V64 x) : mask(_mm512_movepi64_mask(_mm512_castpd_si512(x.raw))) {}
  void toUpperHalf() {
    mask = _kshiftri_mask16(mask, 8);
  }
  __mmask16 mask;
#else
  explicit Negatives(V32 /*x*/) {}
  explicit Negatives(V64 /*x*/) {}
  void toUpperHalf() {}
#endif
};

template <bool kExactSquares>
HWY_INLINE void addTo(Sums& sums, V64 x, [[maybe_unused]] Negatives negatives) {
  sums.sum = hn::Add(sums.sum, x);
#if HWY_CAP_GE512
  const __m512d one = _mm512_set1_pd(1.0);  // there are more units for multiply-adds than for adds
  sums.negative.raw =
      _mm512_mask3_fmadd_pd(x.raw, one, sums.negative.raw, static_cast<__mmask8>(negatives.mask));
#else
  sums.negative = hn::Add(sums.negative, hn::Min(x, hn::Zero(D64())));
#endif
  if (kExactSquares) {
    sums.squares = hn::MulAdd(x, x, sums.squares);
  } else {
    sums.squares = hn::Add(sums.squares, hn::Mul(x, x));
  }
}

HWY_INLINE void addToSketch(double* HWY_RESTRICT row, V64 x, uint32_t signs) {
  const D64 d;
  hn::Store(hn::MulAdd(x, signVector(signs), hn::Load(d, row)), d, row);
}

// blockWords(), where it is worth vectors.
HWY_INLINE BlockWords wordsOf(uint64_t block) {
#if HWY_CAP_GE512
  alignas(64) BlockWords words;
  const auto fill = [&words, block](auto d, size_t first) HWY_ATTR {
    auto z = (hn::Iota(d, block * kWordsPerBlock + first + 1)) * hn::Set(d, 0x9E3779B97F4A7C15ULL);
    z = hn::Xor(z, hn::ShiftRight<30>(z)) * hn::Set(d, 0xBF58476D1CE4E5B9ULL);
    z = hn::Xor(z, hn::ShiftRight<27>(z)) * hn::Set(d, 0x94D049BB133111EBULL);
    hn::Store(hn::Xor(z, hn::ShiftRight<31>(z)), d, &words[first]);
  };
  fill(hn::CappedTag<uint64_t, 8>(), 0);
  fill(hn::CappedTag<uint64_t, 8>(), 8);
  fill(hn::CappedTag<uint64_t, 4>(), 16);
  return words;
#else
  return blockWords(block);
#endif
}

HWY_INLINE uint32_t signsOfRow(const BlockWords& words, size_t row) {
  uint16_t signs;
  std::memcpy(&signs, reinterpret_cast<const char*>(words.data()) + row * 2, 2);
  return signs;
}

// Smallest magnitude so far; undefined after a NaN.
#if HWY_CAP_GE512
HWY_INLINE V32 minMagnitude(V32 smallest, V32 x) {
  return V32{_mm512_range_ps(smallest.raw, x.raw, 0b1010)};  // smaller magnitude, without sign
}
HWY_INLINE V64 minMagnitude(V64 smallest, V64 x) {
  return V64{_mm512_range_pd(smallest.raw, x.raw, 0b1010)};
}
#else
template <class V>
HWY_INLINE V minMagnitude(V smallest, V x) {
  return hn::Min(smallest, hn::Abs(x));
}
#endif

// Sums and sketch of one vector that has been loaded from `at`.
template <class Loader, bool kSketch>
HWY_INLINE void addVector(V64 x, const char* /*at*/, Sums* sums, double* row, uint32_t signs) {
  addTo<Loader::kExactSquares>(sums[0], x, Negatives(x));
  if (kSketch) addToSketch(row, x, signs);
}
template <class Loader, bool kSketch>
HWY_INLINE void addVector(V32 x, const char* at, Sums* sums, double* row, uint32_t signs) {
  const D64 d;
  const hn::Half<D32> half;
  const size_t lanes = hn::Lanes(d);
  Negatives negatives(x);
  const V64 low = hn::PromoteTo(d, hn::LowerHalf(half, x));
  V64 high;
  if constexpr (requires { Loader::loadHalf(at); }) {
    high = hn::PromoteTo(d, Loader::loadHalf(at + lanes * Loader::kBytes));
  } else {
    high = hn::PromoteTo(d, hn::UpperHalf(half, x));
  }
  addTo<Loader::kExactSquares>(sums[0], low, negatives);
  negatives.toUpperHalf();
  addTo<Loader::kExactSquares>(sums[1], high, negatives);
  if (kSketch) {
    addToSketch(row, low, signs);
    addToSketch(row + lanes, high, signs >> lanes);
  }
}

// Zeros and subnormals among full rows without NaN.
template <class Loader, typename T>
HWY_NOINLINE void countSmall(const char* data, size_t rows, T smallestNormal,
                             ChunkState<T>& state) {
  const typename Loader::D d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const auto limit = hn::Set(d, smallestNormal);
  const auto zero = hn::Zero(d);
  const auto negativeZero = hn::BitCast(bits, hn::Set(d, T{-0.0}));
  size_t small = 0;
  size_t zeros = 0;
  size_t negativeZeros = 0;
  for (size_t i = 0; i < rows * kLanes; i += hn::Lanes(d)) {
    const auto x = Loader::load(data + i * Loader::kBytes);
    small += hn::CountTrue(d, hn::Lt(hn::Abs(x), limit));
    zeros += hn::CountTrue(d, hn::Eq(x, zero));
    negativeZeros += hn::CountTrue(bits, hn::Eq(hn::BitCast(bits, x), negativeZero));
  }
  state.zero += zeros;
  state.negativeZero += negativeZeros;
  state.subnormal += small - zeros;
}

// What a loop over rows does besides statistics.
enum class Extra { none, sketch, sketchAndHash };

// Full rows of one block, as if all components were finite. Where one is not, the state (but for
// the counts) and the sketch become NaN or infinite, and the caller starts over.
// With a hash, rows are stripes of 64 bytes in whole XXH3 blocks of 16; `endsInput`: they end it.
template <class Loader, Extra kExtra, typename T>
HWY_NOINLINE void addFiniteRows(const char* HWY_RESTRICT data, size_t rows, const BlockWords& words,
                                T smallestNormal, int64_t prefetchDistance, ChunkState<T>& state,
                                double (*HWY_RESTRICT sketch)[kLanes],
                                [[maybe_unused]] Xxh3Accumulators* HWY_RESTRICT hash = nullptr,
                                [[maybe_unused]] bool endsInput = false) {
  constexpr bool kSketch = kExtra != Extra::none;
  constexpr bool kHash = kExtra == Extra::sketchAndHash;
  static_assert(!kHash || kLanes * Loader::kBytes == kXxh3StripeBytes);
  static_assert(kXxh3StripesPerBlock == 16);
  const DHash dHash;
  const typename Loader::D d;
  const D64 d64;
  constexpr size_t kVectors = sizeof(double) / sizeof(T);
  auto smallest = hn::Set(d, std::numeric_limits<T>::infinity());
  for (size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
    Sums sums[2];
    for (size_t v = 0; v < kVectors; ++v) sums[v] = loadSums(state, lane + v * hn::Lanes(d64));
    auto min = hn::Load(d, &state.min[lane]);
    auto max = hn::Load(d, &state.max[lane]);
    const char* at = data + lane * Loader::kBytes;
    auto stripes = hn::Zero(dHash);
    if constexpr (kHash) stripes = hn::Load(dHash, &hash->lanes[lane / 2]);
    for (size_t first = 0; first < rows; first += 16) {
      uint64_t rotations = words[16 + first / 16];
      const size_t end = std::min(rows, first + 16);
      const bool last = kHash && endsInput && end == rows;
      const Xxh3BlockSecret& secret = last ? kXxh3LastBlock : kXxh3InnerBlock;
      [[maybe_unused]] const uint64_t* stripeSecret = &secret.stripes[lane / 2];
#pragma GCC unroll 2
      for (size_t row = first; row < end; ++row) {
        __builtin_prefetch(at + prefetchDistance, 0, 2);
        const auto x = Loader::load(at);
        min = hn::Min(min, x);
        max = hn::Max(max, x);
        smallest = minMagnitude(smallest, x);
        if constexpr (kHash) {
          stripes = addStripe(stripes, hn::BitCast(dHash, x), stripeSecret);
          stripeSecret += kXxh3StripeBytes / sizeof(uint64_t);
        }
        addVector<Loader, kSketch>(x, at, sums, sketch[rotations & 15] + lane,
                                   signsOfRow(words, row) >> lane);
        at += kLanes * Loader::kBytes;
        rotations >>= 4;
      }
      if constexpr (kHash) {
        if (!last) stripes = scramble(stripes, &secret.scramble[lane / 2]);
      }
    }
    if constexpr (kHash) hn::Store(stripes, dHash, &hash->lanes[lane / 2]);
    hn::Store(min, d, &state.min[lane]);
    hn::Store(max, d, &state.max[lane]);
    for (size_t v = 0; v < kVectors; ++v) storeSums(sums[v], state, lane + v * hn::Lanes(d64));
  }
  if (!hn::AllFalse(d, hn::Lt(smallest, hn::Set(d, smallestNormal)))) {
    countSmall<Loader>(data, rows, smallestNormal, state);
  }
}

// Stands for a loader whose vector was changed after loading.
template <class Loader>
struct Masked {
  static constexpr bool kExactSquares = Loader::kExactSquares;
};

// Any components of one block.
template <class Loader, typename T>
HWY_NOINLINE void addAnyRows(const char* HWY_RESTRICT data, size_t firstRow, size_t components,
                             const BlockWords& words, T smallestNormal, ChunkState<T>& state,
                             double (*HWY_RESTRICT sketch)[kLanes]) {
  const typename Loader::D d;
  const D64 d64;
  const hn::RebindToUnsigned<decltype(d)> bits;
  constexpr size_t kVectors = sizeof(double) / sizeof(T);
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto limit = hn::Set(d, smallestNormal);
  const auto zero = hn::Zero(d);
  const auto negativeZero = hn::BitCast(bits, hn::Set(d, T{-0.0}));
  for (size_t row = firstRow; components != 0; ++row) {
    const size_t valid = std::min<size_t>(components, kLanes);
    alignas(64) char padded[kLanes * Loader::kBytes];
    const char* at = data;
    if (valid < kLanes) {
      std::memset(padded, 0, sizeof padded);
      std::memcpy(padded, data, valid * Loader::kBytes);
      at = padded;
    }
    for (size_t lane = 0; lane < valid; lane += hn::Lanes(d)) {
      const auto inside = hn::FirstN(d, valid - lane);
      const auto loaded = Loader::load(at + lane * Loader::kBytes);
      const auto finite = hn::And(hn::Lt(hn::Abs(loaded), infinity), inside);
      const size_t finiteCount = hn::CountTrue(d, finite);
      const size_t count = std::min(valid - lane, hn::Lanes(d));
      if (finiteCount != count) {
        const size_t positive = hn::CountTrue(d, hn::And(inside, hn::Eq(loaded, infinity)));
        const size_t negative =
            hn::CountTrue(d, hn::And(inside, hn::Eq(loaded, hn::Neg(infinity))));
        state.positiveInfinity += positive;
        state.negativeInfinity += negative;
        state.nan += count - finiteCount - positive - negative;
      }
      const auto x = hn::IfThenElseZero(finite, loaded);
      const auto small = hn::And(finite, hn::Lt(hn::Abs(x), limit));
      if (!hn::AllFalse(d, small)) {
        const size_t zeros = hn::CountTrue(d, hn::And(finite, hn::Eq(x, zero)));
        state.zero += zeros;
        state.negativeZero += hn::CountTrue(bits, hn::Eq(hn::BitCast(bits, x), negativeZero));
        state.subnormal += hn::CountTrue(d, small) - zeros;
      }
      const auto min = hn::Min(hn::Load(d, &state.min[lane]), hn::IfThenElse(finite, x, infinity));
      const auto max =
          hn::Max(hn::Load(d, &state.max[lane]), hn::IfThenElse(finite, x, hn::Neg(infinity)));
      hn::Store(min, d, &state.min[lane]);
      hn::Store(max, d, &state.max[lane]);
      Sums sums[2];
      for (size_t v = 0; v < kVectors; ++v) sums[v] = loadSums(state, lane + v * hn::Lanes(d64));
      addVector<Masked<Loader>, true>(x, nullptr, sums, sketch[rowRotation(words, row)] + lane,
                                      signsOfRow(words, row) >> lane);
      for (size_t v = 0; v < kVectors; ++v) storeSums(sums[v], state, lane + v * hn::Lanes(d64));
    }
    data += valid * Loader::kBytes;
    components -= valid;
  }
}

#endif  // not plain

}  // namespace ulpscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
