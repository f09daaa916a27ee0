// How components of each dtype are read into vectors, for one instruction set at a time.
// Formats of at most 16 bits and float32 are read as float32, the others as float64; all exactly
// but for 64-bit integers, which are rounded to nearest.

// NOLINTNEXTLINE(llvm-header-guard): Highway includes it once for each instruction set.
#if defined(ULPSCOPE_COMPONENT_LOADERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_COMPONENT_LOADERS_INL_H
#undef ULPSCOPE_COMPONENT_LOADERS_INL_H
#else
#define ULPSCOPE_COMPONENT_LOADERS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace ulpscope::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
namespace hn = hwy::HWY_NAMESPACE;

// A vector of float32 becomes two of float64; 16 lanes hold a whole number of either.
using D64 = hn::CappedTag<double, 8>;
using D32 = hn::Repartition<float, D64>;
using V64 = hn::Vec<D64>;
using V32 = hn::Vec<D32>;
using DHalf32 = hn::Half<D32>;
using VHalf32 = hn::Vec<DHalf32>;

// Each loader: kBytes of a stored component; D, the tag of load()'s result; kExactSquares: x * x is
// exact in float64, so that fused and separate multiply-add agree. loadHalf(), where it costs less
// than taking the upper half of a vector apart, loads half as many.

struct LoadFloat32 {
  static constexpr size_t kBytes = 4;
  static constexpr bool kExactSquares = true;
  using D = D32;
  using Component = float;
  HWY_INLINE static V32 load(const void* p) {
    return hn::LoadU(D32(), static_cast<const float*>(p));
  }
  HWY_INLINE static VHalf32 loadHalf(const void* p) {
    return hn::LoadU(DHalf32(), static_cast<const float*>(p));
  }
};

template <typename T>
struct LoadSmallInt {
  static constexpr size_t kBytes = sizeof(T);
  static constexpr bool kExactSquares = true;
  using D = D32;
  using Component = float;
  HWY_INLINE static V32 load(const void* p) {
    const hn::Rebind<T, D32> narrow;
    const hn::RebindToSigned<D32> wide;
    return hn::ConvertTo(D32(), hn::PromoteTo(wide, hn::LoadU(narrow, static_cast<const T*>(p))));
  }
};

struct LoadBool {
  static constexpr size_t kBytes = 1;
  static constexpr bool kExactSquares = true;
  using D = D32;
  using Component = float;
  HWY_INLINE static V32 load(const void* p) {
    const hn::Rebind<uint8_t, D32> narrow;
    const hn::RebindToSigned<D32> wide;
    const auto bytes = hn::LoadU(narrow, static_cast<const uint8_t*>(p));
    return hn::ConvertTo(D32(), hn::PromoteTo(wide, hn::Min(bytes, hn::Set(narrow, 1))));
  }
};

struct LoadBFloat16 {
  static constexpr size_t kBytes = 2;
  static constexpr bool kExactSquares = true;
  using D = D32;
  using Component = float;
  HWY_INLINE static V32 load(const void* p) {
    const hn::Rebind<uint16_t, D32> narrow;
    const hn::RebindToUnsigned<D32> wide;
    const auto bits = hn::PromoteTo(wide, hn::LoadU(narrow, static_cast<const uint16_t*>(p)));
    return hn::BitCast(D32(), hn::ShiftLeft<16>(bits));
  }
  HWY_INLINE static VHalf32 loadHalf(const void* p) {
    const hn::Rebind<uint16_t, DHalf32> narrow;
    const hn::RebindToUnsigned<DHalf32> wide;
    const auto bits = hn::PromoteTo(wide, hn::LoadU(narrow, static_cast<const uint16_t*>(p)));
    return hn::BitCast(DHalf32(), hn::ShiftLeft<16>(bits));
  }
};

struct LoadFloat16 {
  static constexpr size_t kBytes = 2;
  static constexpr bool kExactSquares = true;
  using D = D32;
  using Component = float;
  HWY_INLINE static V32 load(const void* p) {
#if HWY_TARGET <= HWY_AVX2
    const hn::Rebind<hwy::float16_t, D32> narrow;
    return hn::PromoteTo(D32(), hn::LoadU(narrow, static_cast<const hwy::float16_t*>(p)));
#else
    const hn::Rebind<uint16_t, D32> narrow;
    const hn::RebindToUnsigned<D32> wide;
    const hn::RebindToSigned<D32> integer;
    const auto bits = hn::PromoteTo(wide, hn::LoadU(narrow, static_cast<const uint16_t*>(p)));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(wide, 0x8000)));
    const auto magnitude = hn::And(bits, hn::Set(wide, 0x7fff));
    const auto shifted = hn::ShiftLeft<13>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(wide, 112U << 23));
    const auto subnormal = hn::BitCast(
        wide,
        hn::Mul(hn::ConvertTo(D32(), hn::BitCast(integer, magnitude)), hn::Set(D32(), 0x1p-24F)));
    const auto special = hn::Or(shifted, hn::Set(wide, 0x7f800000));
    const auto m = hn::BitCast(integer, magnitude);
    auto value =
        hn::IfThenElse(hn::MaskFromVec(hn::BitCast(
                           wide, hn::VecFromMask(integer, hn::Lt(m, hn::Set(integer, 0x400))))),
                       subnormal, normal);
    value =
        hn::IfThenElse(hn::MaskFromVec(hn::BitCast(
                           wide, hn::VecFromMask(integer, hn::Gt(m, hn::Set(integer, 0x7bff))))),
                       special, value);
    return hn::BitCast(D32(), hn::Or(value, sign));
#endif
  }
};

struct LoadFloat64 {
  static constexpr size_t kBytes = 8;
  static constexpr bool kExactSquares = false;
  using D = D64;
  using Component = double;
  HWY_INLINE static V64 load(const void* p) {
    return hn::LoadU(D64(), static_cast<const double*>(p));
  }
};

struct LoadInt32 {
  static constexpr size_t kBytes = 4;
  static constexpr bool kExactSquares = false;
  using D = D64;
  using Component = double;
  HWY_INLINE static V64 load(const void* p) {
    const hn::Rebind<int32_t, D64> narrow;
    return hn::PromoteTo(D64(), hn::LoadU(narrow, static_cast<const int32_t*>(p)));
  }
};

struct LoadUInt32 {
  static constexpr size_t kBytes = 4;
  static constexpr bool kExactSquares = false;
  using D = D64;
  using Component = double;
  HWY_INLINE static V64 load(const void* p) {
    const hn::Rebind<uint32_t, D64> narrow;
    const hn::Rebind<int32_t, D64> integer;
    const auto shifted =
        hn::Xor(hn::LoadU(narrow, static_cast<const uint32_t*>(p)), hn::Set(narrow, 0x80000000U));
    return hn::Add(hn::PromoteTo(D64(), hn::BitCast(integer, shifted)), hn::Set(D64(), 0x1p31));
  }
};

// 64-bit integers: the halves are put into the fractions of 2^84 and 2^52; one rounding, in the
// last addition.
template <bool kSigned>
struct LoadInt64 {
  static constexpr size_t kBytes = 8;
  static constexpr bool kExactSquares = false;
  using D = D64;
  using Component = double;
  HWY_INLINE static V64 load(const void* p) {
    const hn::RebindToUnsigned<D64> wide;
    auto bits = hn::LoadU(wide, static_cast<const uint64_t*>(p));
    if (kSigned) bits = hn::Xor(bits, hn::Set(wide, uint64_t{1} << 63));
    const auto low =
        hn::Or(hn::And(bits, hn::Set(wide, 0xffffffffU)), hn::Set(wide, 0x4330000000000000ULL));
    const auto high = hn::Or(hn::ShiftRight<32>(bits), hn::Set(wide, 0x4530000000000000ULL));
    const double bias = kSigned ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52;
    return hn::Add(hn::Sub(hn::BitCast(D64(), high), hn::Set(D64(), bias)),
                   hn::BitCast(D64(), low));
  }
};
#endif  // not plain

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace ulpscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ULPSCOPE_COMPONENT_LOADERS_INL_H
