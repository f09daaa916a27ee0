#include "fingerprint/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ulpscope {
namespace {

TEST(DType, NamesAreDistinctAndTorchs) {
  std::set<std::string_view> names;
  std::set<std::string_view> shortNames;
  for (int number = 0; number < kDTypeCount; ++number) {
    const DTypeInfo& type = info(static_cast<DType>(number));
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_TRUE(shortNames.insert(type.shortName).second) << type.shortName;
  }
  EXPECT_EQ(info(DType::Float32).name, "float32");
  EXPECT_EQ(info(DType::Float16).name, "float16");
  EXPECT_EQ(info(DType::Bool).name, "bool");
  EXPECT_EQ(info(DType::Float8_e4m3fn).name, "float8_e4m3fn");
  EXPECT_EQ(info(DType::Float4_e2m1fn_x2).name, "float4_e2m1fn_x2");
  EXPECT_EQ(info(DType::BFloat16).shortName, "bf16");
  EXPECT_EQ(info(DType::Int64).shortName, "i64");
  EXPECT_EQ(info(DType::Complex64).shortName, "c64");
}

TEST(DType, BytesAndSignificands) {
  const auto expect = [](DType dtype, int bytes, int significandBits, NumberKind kind) {
    SCOPED_TRACE(std::string(info(dtype).name));
    EXPECT_EQ(info(dtype).bytes, bytes);
    EXPECT_EQ(info(dtype).significandBits, significandBits);
    EXPECT_EQ(info(dtype).kind, kind);
  };
  using enum NumberKind;
  expect(DType::Float16, 2, 11, floating);
  expect(DType::BFloat16, 2, 8, floating);
  expect(DType::Float32, 4, 24, floating);
  expect(DType::Float64, 8, 53, floating);
  expect(DType::Float8_e5m2, 1, 3, floating);
  expect(DType::Float8_e4m3fn, 1, 4, floating);
  expect(DType::Float8_e5m2fnuz, 1, 3, floating);
  expect(DType::Float8_e4m3fnuz, 1, 4, floating);
  expect(DType::Float8_e8m0fnu, 1, 1, floating);
  expect(DType::Complex32, 4, 11, complex);
  expect(DType::Complex64, 8, 24, complex);
  expect(DType::Complex128, 16, 53, complex);
  expect(DType::Int64, 8, 0, signedInt);
  expect(DType::QInt32, 4, 0, signedInt);
  expect(DType::QUInt8, 1, 0, unsignedInt);
  expect(DType::UInt16, 2, 0, unsignedInt);
  expect(DType::Bool, 1, 0, boolean);
  expect(DType::Bits16, 2, 0, raw);
  expect(DType::QUInt4x2, 1, 0, raw);
  expect(DType::Float4_e2m1fn_x2, 1, 0, raw);
  expect(DType::UInt3, 1, 0, unsignedInt);
  expect(DType::Int7, 1, 0, signedInt);
  expect(DType::Undefined, 0, 0, raw);
}

TEST(DType, UnknownNumbersAreUndefined) {
  EXPECT_EQ(info(static_cast<DType>(47)).name, "undefined");
  EXPECT_EQ(info(static_cast<DType>(255)).bytes, 0);
}

}  // namespace
}  // namespace ulpscope
