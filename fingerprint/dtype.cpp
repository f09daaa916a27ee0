#include "fingerprint/dtype.h"

#include <array>

namespace ulpscope {
namespace {

using enum NumberKind;

// Indexed by DType.
constexpr std::array<DTypeInfo, kDTypeCount> kTable = {{
    {"uint8", "u8", 1, unsignedInt, 0},
    {"int8", "i8", 1, signedInt, 0},
    {"int16", "i16", 2, signedInt, 0},
    {"int32", "i32", 4, signedInt, 0},
    {"int64", "i64", 8, signedInt, 0},
    {"float16", "f16", 2, floating, 11},
    {"float32", "f32", 4, floating, 24},
    {"float64", "f64", 8, floating, 53},
    {"complex32", "c32", 4, complex, 11},
    {"complex64", "c64", 8, complex, 24},
    {"complex128", "c128", 16, complex, 53},
    {"bool", "bool", 1, boolean, 0},
    {"qint8", "qi8", 1, signedInt, 0},
    {"quint8", "qu8", 1, unsignedInt, 0},
    {"qint32", "qi32", 4, signedInt, 0},
    {"bfloat16", "bf16", 2, floating, 8},
    {"quint4x2", "qu4x2", 1, raw, 0},
    {"quint2x4", "qu2x4", 1, raw, 0},
    {"bits1x8", "b1x8", 1, raw, 0},
    {"bits2x4", "b2x4", 1, raw, 0},
    {"bits4x2", "b4x2", 1, raw, 0},
    {"bits8", "b8", 1, raw, 0},
    {"bits16", "b16", 2, raw, 0},
    {"float8_e5m2", "f8e5m2", 1, floating, 3},
    {"float8_e4m3fn", "f8e4m3fn", 1, floating, 4},
    {"float8_e5m2fnuz", "f8e5m2fnuz", 1, floating, 3},
    {"float8_e4m3fnuz", "f8e4m3fnuz", 1, floating, 4},
    {"uint16", "u16", 2, unsignedInt, 0},
    {"uint32", "u32", 4, unsignedInt, 0},
    {"uint64", "u64", 8, unsignedInt, 0},
    {"uint1", "u1", 1, unsignedInt, 0},
    {"uint2", "u2", 1, unsignedInt, 0},
    {"uint3", "u3", 1, unsignedInt, 0},
    {"uint4", "u4", 1, unsignedInt, 0},
    {"uint5", "u5", 1, unsignedInt, 0},
    {"uint6", "u6", 1, unsignedInt, 0},
    {"uint7", "u7", 1, unsignedInt, 0},
    {"int1", "i1", 1, signedInt, 0},
    {"int2", "i2", 1, signedInt, 0},
    {"int3", "i3", 1, signedInt, 0},
    {"int4", "i4", 1, signedInt, 0},
    {"int5", "i5", 1, signedInt, 0},
    {"int6", "i6", 1, signedInt, 0},
    {"int7", "i7", 1, signedInt, 0},
    {"float8_e8m0fnu", "f8e8m0fnu", 1, floating, 1},
    {"float4_e2m1fn_x2", "f4x2", 1, raw, 0},
    {"undefined", "?", 0, raw, 0},
}};

}  // namespace

const DTypeInfo& info(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  return kTable[number < kTable.size() ? number : static_cast<size_t>(DType::Undefined)];
}

}  // namespace ulpscope
