// Sums over the 16 lanes in their fixed order, for one instruction set at a time.

// NOLINTNEXTLINE(llvm-header-guard): Highway includes it once for each instruction set.
#if defined(ULPSCOPE_LANE_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_LANE_SUMS_INL_H
#undef ULPSCOPE_LANE_SUMS_INL_H
#else
#define ULPSCOPE_LANE_SUMS_INL_H
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "fingerprint/component_loaders-inl.h"
#include "fingerprint/sketch_hash.h"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// The tree within one vector: upper half to lower half, down to one lane.
template <class D>
HWY_INLINE double sumHalves(D /*d*/, hn::Vec<D> x) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(x);
  } else {
    const hn::Half<D> half;
    return sumHalves(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  }
}

// The tree l and l + 8, then l + 4, l + 2, l + 1.
HWY_INLINE double sumOfLanes(const std::array<double, kLanes>& lanes) {
  const D64 d;
  constexpr size_t kStep = hn::MaxLanes(D64());
  V64 x[kLanes / kStep];
  for (size_t v = 0; v < kLanes / kStep; ++v) x[v] = hn::Load(d, &lanes[v * kStep]);
  for (size_t half = kLanes / kStep / 2; half != 0; half /= 2) {
    for (size_t v = 0; v < half; ++v) x[v] = hn::Add(x[v], x[v + half]);
  }
  return sumHalves(d, x[0]);
}

template <typename T>
HWY_INLINE double minOfLanes(const std::array<T, kLanes>& lanes) {
  const hn::Repartition<T, D64> d;
  auto x = hn::Load(d, lanes.data());
  for (size_t l = hn::Lanes(d); l < kLanes; l += hn::Lanes(d)) {
    x = hn::Min(x, hn::Load(d, &lanes[l]));
  }
  return static_cast<double>(hn::GetLane(hn::MinOfLanes(d, x)));
}

template <typename T>
HWY_INLINE double maxOfLanes(const std::array<T, kLanes>& lanes) {
  const hn::Repartition<T, D64> d;
  auto x = hn::Load(d, lanes.data());
  for (size_t l = hn::Lanes(d); l < kLanes; l += hn::Lanes(d)) {
    x = hn::Max(x, hn::Load(d, &lanes[l]));
  }
  return static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, x)));
}

HWY_INLINE void addRow(double* HWY_RESTRICT to, const double* HWY_RESTRICT from) {
  const D64 d;
  for (size_t l = 0; l < kLanes; l += hn::Lanes(d)) {
    hn::Store(hn::Add(hn::Load(d, to + l), hn::Load(d, from + l)), d, to + l);
  }
}

// Lane l xor `rotation` of a row, for the vector that begins at lane l.
HWY_INLINE V64 rotated(const double* row, size_t lane, size_t rotation) {
  struct Permutations {
    alignas(64) uint64_t index[8][8];
    constexpr Permutations() : index{} {
      for (uint64_t r = 0; r < 8; ++r) {
        for (uint64_t l = 0; l < 8; ++l) index[r][l] = l ^ r;
      }
    }
  };
  static constexpr Permutations kPermutations;
  const D64 d;
  const size_t within = rotation & (hn::Lanes(d) - 1);
  const auto index = hn::SetTableIndices(d, kPermutations.index[within]);
  return hn::TableLookupLanes(hn::Load(d, row + (lane ^ (rotation - within))), index);
}

HWY_INLINE void copyRotated(double* HWY_RESTRICT to, const double (*rows)[kLanes],
                            size_t rotation) {
  const D64 d;
  for (size_t l = 0; l < kLanes; l += hn::Lanes(d)) {
    hn::StoreU(rotated(rows[rotation], l, rotation), d, to + l);
  }
}

HWY_INLINE void addRotated(double* HWY_RESTRICT to, const double (*rows)[kLanes], size_t rotation) {
  const D64 d;
  for (size_t l = 0; l < kLanes; l += hn::Lanes(d)) {
    hn::StoreU(hn::Add(hn::LoadU(d, to + l), rotated(rows[rotation], l, rotation)), d, to + l);
  }
}

#endif  // not plain

}  // namespace ulpscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ULPSCOPE_LANE_SUMS_INL_H
