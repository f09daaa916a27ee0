#pragma once

#include <cstdint>
#include <string_view>

namespace ulpscope {

/// Element type of a tensor. The numbers are part of the trace format; they are those of
/// c10::ScalarType in torch 2.13 (the hook asserts that), but this header does not need torch.
enum class DType : uint8_t {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Float16 = 5,
  Float32 = 6,
  Float64 = 7,
  Complex32 = 8,
  Complex64 = 9,
  Complex128 = 10,
  Bool = 11,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  BFloat16 = 15,
  QUInt4x2 = 16,
  QUInt2x4 = 17,
  Bits1x8 = 18,
  Bits2x4 = 19,
  Bits4x2 = 20,
  Bits8 = 21,
  Bits16 = 22,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  Float8_e5m2fnuz = 25,
  Float8_e4m3fnuz = 26,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
  UInt1 = 30,  // UInt1..UInt7 and Int1..Int7 are stored one element a byte
  UInt2 = 31,
  UInt3 = 32,
  UInt4 = 33,
  UInt5 = 34,
  UInt6 = 35,
  UInt7 = 36,
  Int1 = 37,
  Int2 = 38,
  Int3 = 39,
  Int4 = 40,
  Int5 = 41,
  Int6 = 42,
  Int7 = 43,
  Float8_e8m0fnu = 44,
  Float4_e2m1fn_x2 = 45,
  Undefined = 46,
};
inline constexpr int kDTypeCount = 47;

/// How the statistics and the sketch read an element; the digest always reads raw bytes.
enum class NumberKind : uint8_t { unsignedInt, signedInt, boolean, floating, complex, raw };

struct DTypeInfo {
  std::string_view name;       ///< torch's name without "torch.": "float32", "bfloat16"
  std::string_view shortName;  ///< for people: "f32", "bf16", "i64", "c64"
  uint8_t bytes;               ///< bytes of one stored element (0: Undefined)
  NumberKind kind;
  /// Explicit and implicit significand bits (float32: 24), of one real component for complex;
  /// 0 where the notion does not apply. One ulp at 1.0 is 2^(1 - significandBits).
  uint8_t significandBits;
};

/// Never fails: an unknown number gives the entry of Undefined.
const DTypeInfo& info(DType dtype);

}  // namespace ulpscope
