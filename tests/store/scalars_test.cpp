#include "store/scalars.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ulpscope {
namespace {

std::string textOf(double value) {
  ScalarPacker packer;
  packer.floating(0, value);
  return unpackScalars(packer.bytes()).at(0).text;
}

TEST(Scalars, FloatsPrintAsPythonDoes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::pair<double, const char*> cases[] = {
      {1e-05, "1e-05"},
      {0.0001, "0.0001"},
      {1.0, "1.0"},
      {-0.0, "-0.0"},
      {0.1, "0.1"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {0.30000000000000004, "0.30000000000000004"},
      {kInfinity, "inf"},
      {-kInfinity, "-inf"},
      {std::nan(""), "nan"},
      {1.5e-7, "1.5e-07"},
      {100.0, "100.0"},
      {0.001, "0.001"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(textOf(value), text);
}

TEST(Scalars, EachKindHasItsPythonSpelling) {
  ScalarPacker packer;
  packer.none(0);
  packer.boolean(1, true);
  packer.boolean(2, false);
  packer.integer(3, INT64_MIN);
  packer.complexNumber(4, 1, 2);
  packer.complexNumber(5, 0, -1.5);
  packer.complexNumber(6, 1.5, -0.0);
  packer.text(7, "sum \"x\"");
  packer.text(8, "");
  packer.integers(9, std::vector<int64_t>{1, -2});
  packer.integers(10, {});
  packer.floatings(11, std::vector<double>{1, 2.5});
  packer.booleans(12, std::vector<uint8_t>{1, 0});
  packer.dtype(13, DType::BFloat16);
  packer.dtype(-1, static_cast<DType>(200));
  packer.complexNumber(14, -0.0, 1);
  const std::vector<Scalar> expected{{0, "None"},
                                     {1, "True"},
                                     {2, "False"},
                                     {3, "-9223372036854775808"},
                                     {4, "(1+2j)"},
                                     {5, "-1.5j"},
                                     {6, "(1.5-0j)"},
                                     {7, "sum \"x\""},
                                     {8, ""},
                                     {9, "[1, -2]"},
                                     {10, "[]"},
                                     {11, "[1.0, 2.5]"},
                                     {12, "[True, False]"},
                                     {13, "bfloat16"},
                                     {-1, std::string(info(DType::Undefined).name)},
                                     {14, "(-0+1j)"}};
  checkScalars(packer.bytes());
  EXPECT_EQ(unpackScalars(packer.bytes()), expected);
}

TEST(Scalars, CutOrUnknownOnesThrow) {
  ScalarPacker packer;
  packer.integers(3, std::vector<int64_t>{1, 2, 3});
  for (size_t length = 1; length < packer.bytes().size(); ++length) {
    EXPECT_THROW(checkScalars(packer.bytes().first(length)), Malformed) << length;
    EXPECT_THROW(unpackScalars(packer.bytes().first(length)), Malformed) << length;
  }
  ByteWriter unknown;
  unknown.fixed(int16_t{0});
  unknown.u8(99);
  EXPECT_THROW(checkScalars(unknown.bytes()), Malformed);
  EXPECT_THROW(unpackScalars(unknown.bytes()), Malformed);
  ByteWriter huge;
  huge.fixed(int16_t{0});
  huge.u8(static_cast<uint8_t>(ScalarTag::integers));
  huge.fixed(UINT32_MAX);
  EXPECT_THROW(unpackScalars(huge.bytes()), Malformed);
}

}  // namespace
}  // namespace ulpscope
