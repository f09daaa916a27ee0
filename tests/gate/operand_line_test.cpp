#include "gate/operand_line.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ulpscope::gate {
namespace {

TensorType type(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                Layout layout = Layout::strided, std::string device = "cpu") {
  return {dtype, layout, std::move(device), std::move(sizes), std::move(strides)};
}

TEST(TypeWord, ReadsBack) {
  const std::pair<TensorType, std::string> cases[] = {
      {type(DType::Float32, {24, 32}, {32, 1}), "f32[24,32]"},
      {type(DType::Float32, {32, 96}, {1, 32}), "f32[32,96]/1,32"},
      {type(DType::BFloat16, {}, {}), "bf16[]"},
      {type(DType::Int64, {0, 3}, {3, 1}), "i64[0,3]"},
      {type(DType::Float32, {5}, {0}), "f32[5]/0"},
      {type(DType::Float32, {2}, {1}, Layout::strided, "cuda:1"), "f32[2]%cuda:1"},
      {type(DType::Float32, {4, 4}, {}, Layout::sparse), "f32[4,4]~sparse"},
  };
  for (const auto& [each, text] : cases) {
    EXPECT_EQ(typeWord(each), text);
    TensorType back;
    ASSERT_TRUE(parseType(text, back)) << text;
    EXPECT_EQ(back, each) << text;
  }
}

TEST(TypeWord, RefusesWhatIsNone) {
  for (const char* text : {"", "f32", "f32[", "f32[2", "f32[x]", "f32[2]/", "f32[2]/1,2", "f32[2]x",
                           "f32[2,]", "f32[2]~round"}) {
    TensorType back;
    EXPECT_FALSE(parseType(text, back)) << text;
  }
}

Fingerprint full(const std::vector<float>& values) {
  const int64_t sizes[] = {int64_t(values.size())};
  StridedView view;
  view.data = values.data();
  view.dtype = DType::Float32;
  view.dim = 1;
  view.sizes = sizes;
  return fingerprint(view, Level::full);
}

TEST(ValueWord, KeepsTheDistanceOfTwoTensors) {
  std::vector<float> x(4096), y;
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(float(i) * 0.7F);
  y = x;
  for (size_t i = 0; i < y.size(); ++i) y[i] += 1e-3F * std::cos(float(i) * 1.3F);
  Fingerprint a, b;
  ASSERT_TRUE(parseValue(valueWord(full(x)), x.size(), a));
  ASSERT_TRUE(parseValue(valueWord(full(y)), y.size(), b));
  const Comparison comparison = compare(a, DType::Float32, b, DType::Float32);
  EXPECT_FALSE(comparison.identical);
  ASSERT_TRUE(comparison.distanceKnown);
  // Two signed sums: the estimate is right within a small factor. The truth is 1.0e-3.
  EXPECT_GT(comparison.relative, 1e-4);
  EXPECT_LT(comparison.relative, 4e-3);
}

TEST(ValueWord, TellsNanAndInfinity) {
  const Fingerprint print = full({1, NAN, INFINITY, -INFINITY, 2});
  Fingerprint back;
  ASSERT_TRUE(parseValue(valueWord(print), 5, back));
  EXPECT_EQ(back.statistics.nan, 1u);
  EXPECT_EQ(back.statistics.positiveInfinity, 1u);
  EXPECT_EQ(back.statistics.negativeInfinity, 1u);
}

TEST(ValueWord, IsShort) {
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(float(i));
  EXPECT_LE(valueWord(full(x)).size(), 36u);
  Fingerprint digest;
  digest.digest = {0x123456789abc, 7};
  EXPECT_EQ(valueWord(digest).size(), 8u);
}

TEST(ValueWord, RefusesWhatIsNone) {
  for (const char* text : {"", "AAAA", "AAAAAAA!", "AAAAAAAA,", "AAAAAAAA,x", "AAAAAAAA,1,2,3,4",
                           "AAAAAAAA,1,n", "AAAAAAAA;1"}) {
    Fingerprint back;
    EXPECT_FALSE(parseValue(text, 1, back)) << text;
  }
}

}  // namespace
}  // namespace ulpscope::gate
