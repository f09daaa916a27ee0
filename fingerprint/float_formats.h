#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "fingerprint/dtype.h"

namespace ulpscope {

/// What statistics need to know of a real floating format. Every format narrower than float32 is
/// widened to float32 exactly.
struct FloatFormat {
  int exponentBits;
  int fractionBits;
  int bias;
  bool hasInfinity;        ///< the largest exponent holds infinities and NaNs, as in IEEE 754
  bool negativeZeroIsNan;  ///< "fnuz": 0x80 is the only NaN and there is no -0
};

inline constexpr FloatFormat kFloat8E5M2{5, 2, 15, true, false};
inline constexpr FloatFormat kFloat8E4M3Fn{4, 3, 7, false, false};  // NaN: 0x7f and 0xff
inline constexpr FloatFormat kFloat8E5M2Fnuz{5, 2, 16, false, true};
inline constexpr FloatFormat kFloat8E4M3Fnuz{4, 3, 8, false, true};

/// Value of one 8-bit float with a sign bit, as float32.
constexpr float widenFloat8(uint8_t bits, const FloatFormat& format) {
  const uint32_t sign = (bits & 0x80U) << 24;
  const uint32_t magnitude = bits & 0x7fU;
  const uint32_t fraction = magnitude & ((1U << format.fractionBits) - 1);
  const auto exponent = static_cast<int>(magnitude >> format.fractionBits);
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (format.negativeZeroIsNan && bits == 0x80) return nan;
  if (!format.hasInfinity && !format.negativeZeroIsNan && magnitude == 0x7f) return nan;
  if (format.hasInfinity && exponent == (1 << format.exponentBits) - 1) {
    if (fraction != 0) return nan;
    return std::bit_cast<float>(sign | 0x7f800000U);
  }
  // value = significand * 2^scale; both factors and the product are exact in float32.
  const uint32_t significand = exponent == 0 ? fraction : fraction | (1U << format.fractionBits);
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.fractionBits;
  const auto power = std::bit_cast<float>(static_cast<uint32_t>(127 + scale) << 23);
  const float value = static_cast<float>(significand) * power;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

/// Value of a float8_e8m0fnu: a bare power of two; no sign, no zero; 0xff is NaN.
constexpr float widenFloat8E8M0(uint8_t bits) {
  if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(bits == 0 ? 0x00400000U : static_cast<uint32_t>(bits) << 23);
}

template <class Widen>
constexpr std::array<float, 256> valueTable(Widen widen) {
  std::array<float, 256> values{};
  for (size_t bits = 0; bits < 256; ++bits) values[bits] = widen(static_cast<uint8_t>(bits));
  return values;
}
inline constexpr auto kFloat8E5M2Values =
    valueTable([](uint8_t bits) { return widenFloat8(bits, kFloat8E5M2); });
inline constexpr auto kFloat8E4M3FnValues =
    valueTable([](uint8_t bits) { return widenFloat8(bits, kFloat8E4M3Fn); });
inline constexpr auto kFloat8E5M2FnuzValues =
    valueTable([](uint8_t bits) { return widenFloat8(bits, kFloat8E5M2Fnuz); });
inline constexpr auto kFloat8E4M3FnuzValues =
    valueTable([](uint8_t bits) { return widenFloat8(bits, kFloat8E4M3Fnuz); });
inline constexpr auto kFloat8E8M0Values = valueTable(widenFloat8E8M0);

/// Value of an IEEE 754 binary16, as float32.
constexpr float widenHalf(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000U | (magnitude << 13));
  if (magnitude >= 0x0400) return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
  const float value = static_cast<float>(magnitude) * 0x1p-24F;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

constexpr float widenBFloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Exponent of the smallest normal number: 2^e. Of one real component; 0 for what is not floating.
constexpr int minimumExponent(DType dtype) {
  switch (dtype) {
    case DType::Float16:
    case DType::Complex32:
    case DType::Float8_e5m2:
      return -14;
    case DType::Float32:
    case DType::Complex64:
    case DType::BFloat16:
      return -126;
    case DType::Float64:
    case DType::Complex128:
      return -1022;
    case DType::Float8_e4m3fn:
      return -6;
    case DType::Float8_e5m2fnuz:
      return -15;
    case DType::Float8_e4m3fnuz:
      return -7;
    case DType::Float8_e8m0fnu:
      return -127;
    default:
      return 0;
  }
}

}  // namespace ulpscope
