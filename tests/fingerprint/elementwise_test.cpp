#include "fingerprint/elementwise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace ulpscope {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
ElementComparison compared(const std::vector<T>& a, const std::vector<T>& b, DType dtype,
                           DifferenceOrder order = DifferenceOrder::absolute, size_t largest = 3) {
  return compareElements(std::as_bytes(std::span(a)), dtype, std::as_bytes(std::span(b)), dtype,
                         order, largest);
}

float next(float x, int ulps) {
  for (; ulps > 0; --ulps) x = std::nextafter(x, kInf);
  return x;
}

TEST(Elementwise, BucketsDouble) {
  const std::vector<std::pair<double, int>> cases = {
      {0, 0}, {0.25, 1}, {1, 1}, {1.5, 2}, {2, 2}, {3, 3}, {4, 3}, {5, 4}, {8, 4}, {9, 5},
      {0x1p63, 64}, {0x1.8p63, 65}, {0x1p64, 65}, {std::numeric_limits<double>::infinity(), 65}};
  for (const auto& [ulps, bucket] : cases) EXPECT_EQ(ulpBucket(ulps), bucket) << ulps;
  for (const int bucket : {0, 1, 2, 3, 20, 64}) {
    EXPECT_EQ(ulpBucket(ulpBucketEnd(bucket)), bucket);
    EXPECT_EQ(ulpBucket(ulpBucketEnd(bucket) * (1 + 1e-12) + 1e-12), bucket + 1);
  }
}

TEST(Elementwise, FloatsAreAsFarApartAsTheyHaveValuesBetween) {
  const std::vector<float> a = {1, 1, -1, 0, 1e-45F, 2, 5};
  const std::vector<float> b = {next(1, 3), 1, next(-1, 1), -0.0F, -1e-45F, next(2, 100), 5};
  const ElementComparison c = compared(a, b, DType::Float32);
  EXPECT_EQ(c.elements, 7);
  EXPECT_EQ(c.differing, 5);
  EXPECT_EQ(c.signedZeros, 1);
  EXPECT_EQ(c.nonFinite, 0);
  EXPECT_EQ(c.histogram[0], 3);  // two equal ones, and the zeros
  EXPECT_EQ(c.histogram[1], 1);
  EXPECT_EQ(c.histogram[2], 1);  // across zero: 1e-45 to 0 to -1e-45
  EXPECT_EQ(c.histogram[3], 1);
  EXPECT_EQ(c.histogram[8], 1);  // 65 to 128
  EXPECT_EQ(c.maxUlps, 100);
  EXPECT_EQ(c.maxAbsolute, 100 * 0x1p-22);
  EXPECT_EQ(c.maxRelative, 2);
  EXPECT_DOUBLE_EQ(c.distance, std::hypot(100 * 0x1p-22, std::hypot(3 * 0x1p-23, 0x1p-24)));
  ASSERT_EQ(c.largest.size(), 3u);
  EXPECT_EQ(c.largest[0].element, 5);
  EXPECT_EQ(c.largest[1].element, 0);
  EXPECT_EQ(c.largest[2].element, 2);
}

TEST(Elementwise, TheOrderOfTheListIsAsAsked) {
  const std::vector<float> a = {100, 1e-3F, 1e-40F};
  const std::vector<float> b = {next(100, 2), next(1e-3F, 5), 1.5e-40F};
  EXPECT_EQ(compared(a, b, DType::Float32, DifferenceOrder::absolute).largest[0].element, 0);
  EXPECT_EQ(compared(a, b, DType::Float32, DifferenceOrder::relative).largest[0].element, 2);
  EXPECT_EQ(compared(a, b, DType::Float32, DifferenceOrder::ulps, 1).largest.size(), 1u);
  EXPECT_TRUE(compared(a, b, DType::Float32, DifferenceOrder::ulps, 0).largest.empty());
}

TEST(Elementwise, EqualDifferencesAreListedFirstThingsFirst) {
  const std::vector<int32_t> a(1000, 0), b(1000, 1);
  const auto largest = compared(a, b, DType::Int32).largest;
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(largest[size_t(i)].element, i);
}

TEST(Elementwise, WhatIsNotFiniteIsCountedApartAndListedFirst) {
  const std::vector<float> a = {kNaN, kNaN, 1, kInf, kInf, 3, std::bit_cast<float>(0x7fc00001U)};
  const std::vector<float> b = {kNaN, 1, kInf, kInf, -kInf, 1000, kNaN};
  const ElementComparison c = compared(a, b, DType::Float32, DifferenceOrder::absolute, 10);
  EXPECT_EQ(c.differing, 5);
  EXPECT_EQ(c.nonFinite, 3);
  EXPECT_EQ(c.payloads, 1);
  EXPECT_EQ(c.maxAbsolute, 997);
  ASSERT_EQ(c.largest.size(), 4u);
  EXPECT_EQ(c.largest[0].element, 1);
  EXPECT_EQ(c.largest[1].element, 2);
  EXPECT_EQ(c.largest[2].element, 4);
  EXPECT_EQ(c.largest[3].element, 5);
}

TEST(Elementwise, IntegersOfAllWidths) {
  const auto c = compared<uint64_t>({0, 1}, {~uint64_t{0}, 3}, DType::UInt64);
  EXPECT_EQ(c.histogram[2], 1);
  EXPECT_EQ(c.histogram[64] + c.histogram[65], 1);
  const auto s = compared<int64_t>({INT64_MIN}, {INT64_MAX}, DType::Int64);
  EXPECT_EQ(s.maxUlps, 0x1p64);
  EXPECT_EQ(compared<int8_t>({-3}, {4}, DType::Int8).maxUlps, 7);
  EXPECT_EQ(compared<uint8_t>({0, 1}, {1, 1}, DType::Bool).differing, 1);
}

TEST(Elementwise, ComplexElementsHaveTwoComponents) {
  const auto c = compared<float>({1, 2, 3, 4}, {1, 2, 3, 4.5F}, DType::Complex64);
  EXPECT_EQ(c.elements, 2);
  EXPECT_EQ(c.components, 4);
  ASSERT_EQ(c.largest.size(), 1u);
  EXPECT_EQ(c.largest[0].element, 1);
  EXPECT_EQ(c.largest[0].component, 1);
  EXPECT_EQ(c.largest[0].absolute, 0.5);
}

TEST(Elementwise, SmallFormats) {
  // 1.0 and its neighbour.
  EXPECT_EQ(compared<uint16_t>({0x3f80}, {0x3f81}, DType::BFloat16).maxAbsolute, 0x1p-7);
  EXPECT_EQ(compared<uint16_t>({0x3c00}, {0x3c01}, DType::Float16).maxAbsolute, 0x1p-10);
  EXPECT_EQ(compared<uint8_t>({0x38}, {0x39}, DType::Float8_e4m3fn).maxAbsolute, 0.125);
  EXPECT_EQ(compared<uint8_t>({0x3c}, {0x3d}, DType::Float8_e5m2).maxAbsolute, 0.25);
  EXPECT_EQ(compared<uint8_t>({127}, {128}, DType::Float8_e8m0fnu).maxUlps, 1);
  EXPECT_EQ(compared<uint8_t>({0x80}, {0}, DType::Float8_e5m2fnuz).nonFinite, 1);
}

TEST(Elementwise, DifferentDTypesAreMeasuredInTheCoarserOne) {
  const std::vector<float> a = {1, 1.25F, 300};
  const std::vector<uint16_t> b = {0x3f80, 0x3fa1, 0x4396};  // bfloat16: 1, 1.2578125, 300
  const auto c = compareElements(std::as_bytes(std::span(a)), DType::Float32,
                                 std::as_bytes(std::span(b)), DType::BFloat16,
                                 DifferenceOrder::ulps, 3);
  EXPECT_EQ(c.differing, 1);
  EXPECT_EQ(c.maxUlps, 1);
  EXPECT_EQ(c.histogram[0], 2);
}

TEST(Elementwise, OtherSizesCompareNothing) {
  EXPECT_EQ(compared<float>({1, 2}, {1}, DType::Float32).elements, 0);
  EXPECT_EQ(compared<float>({}, {}, DType::Float32).elements, 0);
  const std::vector<float> a = {1, 2};
  EXPECT_EQ(compareElements(std::as_bytes(std::span(a)), DType::Float32,
                            std::as_bytes(std::span(a)), DType::Complex64,
                            DifferenceOrder::ulps, 3)
                .elements,
            0);
}

}  // namespace
}  // namespace ulpscope
