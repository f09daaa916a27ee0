#include <cmath>
#include <limits>

#include "reference.h"

namespace ulpscope::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
Comparison compareValues(const std::vector<T>& x, const std::vector<T>& y, DType dtype) {
  return compare(fingerprintOf(x, dtype), dtype, fingerprintOf(y, dtype), dtype);
}

TEST(Comparison, OfIdenticalTensors) {
  const std::vector<float> x{1, 2, 3, NAN};
  const Comparison got = compareValues(x, x, DType::Float32);
  EXPECT_TRUE(got.identical);
  EXPECT_FALSE(got.countsDiffer);
  EXPECT_TRUE(got.distanceKnown);
  EXPECT_EQ(got.distance, 0);
  EXPECT_EQ(got.standardError, 0);
  EXPECT_EQ(got.relative, 0);
  EXPECT_EQ(got.ulp, 0);
}

TEST(Comparison, OfOneUlpEverywhere) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(1.0F, 1.9F);
  std::vector<float> x(100000);
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = uniform(random);
    y[i] = std::nextafter(x[i], 10.0F);
  }
  const Comparison got = compareValues(x, y, DType::Float32);
  EXPECT_FALSE(got.identical);
  EXPECT_NEAR(got.ulp, 1, 5 * got.standardError / got.distance);
  EXPECT_NEAR(got.distance, 0x1p-23 * std::sqrt(100000.0), 5 * got.standardError);
  EXPECT_NEAR(got.standardError / got.distance, 0.177, 0.001);
}

// One element of known size, so that ulps are exact.
TEST(Comparison, UlpsAreThoseOfTheDType) {
  const std::vector<float> x{1.5F};
  EXPECT_NEAR(compareValues<float>(x, {1.5F + 0x1p-20F}, DType::Float32).ulp, 8, 1e-9);
  EXPECT_NEAR(compareValues<double>({6.0}, {6.0 + 0x1p-49}, DType::Float64).ulp, 2, 1e-9);
  EXPECT_NEAR(compareValues<uint16_t>({0x3f80}, {0x3f81}, DType::BFloat16).ulp, 1, 1e-9);
  EXPECT_NEAR(compareValues<uint16_t>({0x3c00}, {0x3c03}, DType::Float16).ulp, 3, 1e-9);
  EXPECT_NEAR(compareValues<uint16_t>({0x0001}, {0x0002}, DType::Float16).ulp, 1, 1e-9);
  EXPECT_NEAR(compareValues<uint8_t>({0x38}, {0x39}, DType::Float8_e4m3fn).ulp, 1, 1e-9);
  EXPECT_NEAR(compareValues<uint8_t>({0x3c}, {0x3d}, DType::Float8_e5m2).ulp, 1, 1e-9);
  EXPECT_TRUE(std::isnan(compareValues<int32_t>({5}, {6}, DType::Int32).ulp));
  EXPECT_NEAR(compareValues<int32_t>({5}, {6}, DType::Int32).relative, 1.0 / 6, 1e-9);
}

TEST(Comparison, OfDTypesTakesTheCoarserUlp) {
  const std::vector<float> x{1.0F};
  const std::vector<uint16_t> y{0x3f81};  // bfloat16 after 1
  const Comparison got = compare(fingerprintOf(x, DType::Float32), DType::Float32,
                                 fingerprintOf(y, DType::BFloat16), DType::BFloat16);
  EXPECT_NEAR(got.ulp, 1, 1e-9);
  // Equal bytes, other dtype: not the same.
  const Comparison bytes = compare(fingerprintOf(x, DType::Float32), DType::Float32,
                                   fingerprintOf(x, DType::Int32), DType::Int32);
  EXPECT_FALSE(bytes.identical);
  EXPECT_GT(bytes.distance, 1e9);
}

TEST(Comparison, OfEmptyTensorsIsIdenticalAcrossDTypes) {
  const Fingerprint empty = fingerprintOf(nullptr, DType::Float32, 0);
  EXPECT_TRUE(compare(empty, DType::Float32, empty, DType::Int64).identical);
}

TEST(Comparison, CountsOfNonFiniteValues) {
  const std::vector<float> x{1, NAN};
  EXPECT_TRUE(compareValues<float>(x, {1, 5}, DType::Float32).countsDiffer);
  EXPECT_TRUE(compareValues<float>({INFINITY}, {-INFINITY}, DType::Float32).countsDiffer);
  EXPECT_FALSE(compareValues<float>({1, 2}, {1, 5}, DType::Float32).countsDiffer);
}

TEST(Comparison, BelowTheResolutionOfTheSketch) {
  const Comparison got = compareValues<float>({1, 0.0F}, {1, -0.0F}, DType::Float32);
  EXPECT_FALSE(got.identical);
  EXPECT_TRUE(got.distanceKnown);
  EXPECT_EQ(got.distance, 0);
  EXPECT_GT(got.standardError, 0);
}

TEST(Comparison, WithZeros) {
  const Comparison got = compareValues<float>({0, 0}, {0, 2}, DType::Float32);
  EXPECT_EQ(got.distance, 2);
  EXPECT_EQ(got.relative, 1);
  // At magnitude 0 an ulp is the smallest subnormal.
  EXPECT_NEAR(got.ulp / (2 / std::sqrt(2.0) * 0x1p149), 1, 1e-9);
}

TEST(Comparison, IsUnknownWithoutSketches) {
  const float value = 1;
  const float other = 2;
  const int64_t one = 1;
  const StridedView view{&value, DType::Float32, false, false, 1, &one, nullptr};
  const StridedView view2{&other, DType::Float32, false, false, 1, &one, nullptr};
  for (const Level level : {Level::digest, Level::statistics}) {
    const Comparison got = compare(fingerprint(view, level), DType::Float32,
                                   fingerprint(view2, Level::full), DType::Float32);
    EXPECT_FALSE(got.identical);
    EXPECT_FALSE(got.distanceKnown);
    EXPECT_TRUE(std::isnan(got.relative));
    EXPECT_TRUE(std::isnan(got.ulp));
    EXPECT_TRUE(compare(fingerprint(view, level), DType::Float32, fingerprint(view, Level::full),
                        DType::Float32)
                    .identical);
  }
}

TEST(Comparison, OfOtherShapesIsUnknown) {
  const Comparison got = compareValues<float>({1, 2}, {1, 2, 3}, DType::Float32);
  EXPECT_FALSE(got.identical);
  EXPECT_FALSE(got.distanceKnown);
}

TEST(Comparison, OfHugeAndTinyNumbers) {
  Comparison got = compareValues<double>({1e300}, {2e300}, DType::Float64);
  EXPECT_NEAR(got.distance / 1e300, 1, 1e-12);
  got = compareValues<double>({3e-250}, {1e-250}, DType::Float64);
  EXPECT_NEAR(got.distance / 2e-250, 1, 1e-12);
  EXPECT_EQ(got.relative, kInfinity);  // the norms are below the range of their squares
  // A sum that overflows leaves the distance unknown rather than infinite.
  const std::vector<double> huge(100000, 1e305);
  const std::vector<double> negated(100000, -1e305);
  got = compareValues(huge, negated, DType::Float64);
  EXPECT_TRUE(!got.distanceKnown || std::isfinite(got.distance));
}

TEST(Comparison, NamesDifferingStatistics) {
  const Fingerprint x = fingerprintOf(std::vector<float>{1, 3}, DType::Float32);
  const Fingerprint y = fingerprintOf(std::vector<float>{2, 2}, DType::Float32);
  EXPECT_EQ(differingStatistics(x, y), "min,max,l2");
  EXPECT_EQ(differingStatistics(x, x), "");
  const Fingerprint z = fingerprintOf(std::vector<float>{0, 0, NAN, INFINITY}, DType::Float32);
  const Fingerprint w = fingerprintOf(std::vector<float>{-0.0F, 1e-40F, -INFINITY}, DType::Float32);
  EXPECT_EQ(differingStatistics(z, w), "components,nan,+inf,-inf,zero,-0,subnormal,max,sum,l1,l2");
  Fingerprint digestOnly = x;
  digestOnly.level = Level::digest;
  EXPECT_EQ(differingStatistics(digestOnly, y), "");
}

TEST(Comparison, HexIsXxHashsCanonicalForm) {
  EXPECT_EQ(toHex({0x0123456789abcdef, 0xfedcba9876543210}), "fedcba98765432100123456789abcdef");
  EXPECT_EQ(toHex({1, 0}), "00000000000000000000000000000001");
}

}  // namespace
}  // namespace ulpscope::test
