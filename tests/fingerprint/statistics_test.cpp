// Statistics against hand-made values; targets_test.cpp compares them with the reference at large.

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <cmath>
#include <limits>
#include <thread>

#include "reference.h"

namespace ulpscope::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
Statistics statisticsOf(const std::vector<T>& values, DType dtype) {
  return fingerprintOf(values, dtype).statistics;
}

TEST(Statistics, OfFloats) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Statistics s = statisticsOf<float>(
      {1, -2, 3.5F, 0, -0.0F, infinity, -infinity, infinity, NAN, 1e-40F, -1e-45F}, DType::Float32);
  EXPECT_EQ(s.components, 11U);
  EXPECT_EQ(s.nan, 1U);
  EXPECT_EQ(s.positiveInfinity, 2U);
  EXPECT_EQ(s.negativeInfinity, 1U);
  EXPECT_EQ(s.zero, 2U);
  EXPECT_EQ(s.negativeZero, 1U);
  EXPECT_EQ(s.subnormal, 2U);
  EXPECT_EQ(s.min, -2);
  EXPECT_EQ(s.max, 3.5);
  EXPECT_DOUBLE_EQ(s.sum, 2.5);
  EXPECT_DOUBLE_EQ(s.l1, 6.5);
  EXPECT_DOUBLE_EQ(s.sumSquares, 17.25);
}

TEST(Statistics, OfNothingFinite) {
  const Statistics s =
      statisticsOf<float>({NAN, -std::numeric_limits<float>::infinity()}, DType::Float32);
  EXPECT_EQ(s.min, kInfinity);
  EXPECT_EQ(s.max, -kInfinity);
  EXPECT_EQ(s.sum, 0);
  EXPECT_EQ(s.l1, 0);
}

// A zero extreme is +0 whatever the signs and the order of zeros.
TEST(Statistics, ExtremesHaveNoNegativeZero) {
  for (const std::vector<float>& values :
       {std::vector<float>{-0.0F}, std::vector<float>{0.0F, -0.0F},
        std::vector<float>(100, -0.0F)}) {
    const Statistics s = statisticsOf(values, DType::Float32);
    EXPECT_FALSE(std::signbit(s.min));
    EXPECT_FALSE(std::signbit(s.max));
  }
}

TEST(Statistics, OfWideIntegers) {
  const Statistics s = statisticsOf<int64_t>(
      {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 0, -2048},
      DType::Int64);
  EXPECT_EQ(s.min, -0x1p63);
  EXPECT_EQ(s.max, 0x1p63);
  EXPECT_EQ(s.zero, 1U);
  EXPECT_EQ(s.subnormal, 0U);
  EXPECT_EQ(s.sum, -2048);
  EXPECT_DOUBLE_EQ(s.l1, 0x1p64);
  const Statistics u =
      statisticsOf<uint64_t>({std::numeric_limits<uint64_t>::max(), 3}, DType::UInt64);
  EXPECT_EQ(u.max, 0x1p64);
  EXPECT_EQ(u.min, 3);
}

TEST(Statistics, OfBoolsIsTheirTruth) {
  const Statistics s = statisticsOf<uint8_t>({0, 1, 255, 2, 0}, DType::Bool);
  EXPECT_EQ(s.sum, 3);
  EXPECT_EQ(s.max, 1);
  EXPECT_EQ(s.zero, 2U);
}

TEST(Statistics, OfComplexIsOfBothParts) {
  const Statistics s = statisticsOf<float>({1, -4, NAN, 2}, DType::Complex64);
  EXPECT_EQ(s.components, 4U);
  EXPECT_EQ(s.nan, 1U);
  EXPECT_EQ(s.min, -4);
  EXPECT_EQ(s.max, 2);
}

TEST(Statistics, OfSmallFloatsFollowTheirFormats) {
  // e4m3fn: no infinity; 0x7f and 0xff are NaN, 0x7e is 448; 0x01 is 2^-9, subnormal.
  Statistics s = statisticsOf<uint8_t>({0x7f, 0xff, 0x7e, 0x01, 0x80}, DType::Float8_e4m3fn);
  EXPECT_EQ(s.nan, 2U);
  EXPECT_EQ(s.positiveInfinity, 0U);
  EXPECT_EQ(s.max, 448);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.subnormal, 1U);
  EXPECT_EQ(s.negativeZero, 1U);
  // e5m2 is an IEEE format.
  s = statisticsOf<uint8_t>({0x7c, 0xfc, 0x7d, 0x7b, 0x01}, DType::Float8_e5m2);
  EXPECT_EQ(s.positiveInfinity, 1U);
  EXPECT_EQ(s.negativeInfinity, 1U);
  EXPECT_EQ(s.nan, 1U);
  EXPECT_EQ(s.max, 57344);
  EXPECT_EQ(s.min, 0x1p-16);
  // fnuz: 0x80 is the only NaN.
  s = statisticsOf<uint8_t>({0x80, 0x7f, 0xff, 0x00}, DType::Float8_e4m3fnuz);
  EXPECT_EQ(s.nan, 1U);
  EXPECT_EQ(s.max, 240);
  EXPECT_EQ(s.min, -240);
  EXPECT_EQ(s.zero, 1U);
  EXPECT_EQ(s.negativeZero, 0U);
  s = statisticsOf<uint8_t>({0x80, 0x7f, 0x01}, DType::Float8_e5m2fnuz);
  EXPECT_EQ(s.nan, 1U);
  EXPECT_EQ(s.max, 57344);
  EXPECT_EQ(s.min, 0x1p-17);
  // e8m0fnu: powers of two alone; 0x00 is 2^-127, not zero and not subnormal.
  s = statisticsOf<uint8_t>({0x00, 0x7f, 0xff, 0xfe}, DType::Float8_e8m0fnu);
  EXPECT_EQ(s.nan, 1U);
  EXPECT_EQ(s.zero, 0U);
  EXPECT_EQ(s.subnormal, 0U);
  EXPECT_EQ(s.min, 0x1p-127);
  EXPECT_EQ(s.max, 0x1p127);
  // A half's subnormals are those of halves.
  s = statisticsOf<uint16_t>({0x0001, 0x03ff, 0x0400, 0x7bff, 0xfc00}, DType::Float16);
  EXPECT_EQ(s.subnormal, 2U);
  EXPECT_EQ(s.min, 0x1p-24);
  EXPECT_EQ(s.max, 65504);
  EXPECT_EQ(s.negativeInfinity, 1U);
}

TEST(Statistics, OfRawDTypesIsOfBytes) {
  const Statistics s = statisticsOf<uint8_t>({1, 255, 0, 16}, DType::Bits16);
  EXPECT_EQ(s.components, 4U);
  EXPECT_EQ(s.max, 255);
  EXPECT_EQ(s.sum, 272);
}

// Overflow of the sums is not a non-finite component.
TEST(Statistics, OfHugeNumbers) {
  const std::vector<double> values(40, 1e300);
  const Statistics s = statisticsOf(values, DType::Float64);
  EXPECT_EQ(s.positiveInfinity, 0U);
  EXPECT_EQ(s.max, 1e300);
  EXPECT_EQ(s.sumSquares, kInfinity);
  EXPECT_NEAR(s.sum / 4e301, 1, 1e-14);
}

// One infinity in the last row of the last block, after a long finite run, and then none again.
TEST(Statistics, FindsNonFiniteValuesAnywhere) {
  std::vector<float> values(50000, 1.0F);
  for (const size_t at : {size_t{0}, size_t{16383}, size_t{16384}, size_t{40000}, size_t{49999}}) {
    values[at] = -std::numeric_limits<float>::infinity();
    const Fingerprint got = fingerprintOf(values, DType::Float32);
    EXPECT_EQ(got.statistics.negativeInfinity, 1U) << at;
    EXPECT_EQ(got.statistics.sum, 49999) << at;
    for (const double bucket : got.sketch) EXPECT_TRUE(std::isfinite(bucket));
    values[at] = 1;
  }
}

#if defined(__SSE2__)
// torch.set_flush_denormal(True), rounding modes and trapping are the program's, not ours.
TEST(Statistics, IgnoreTheProgramsFloatEnvironment) {
  const std::vector<uint8_t> bytes = mixedBytes(DType::Float32, 5000, 4);
  const Fingerprint expected = fingerprintOf(bytes, DType::Float32);
  ASSERT_GT(expected.statistics.subnormal, 0U);
  const unsigned before = _mm_getcsr();
  for (const unsigned environment :
       {0x1f80U | 0x8040U, 0x1f80U | 0x2000U, 0x1f80U | 0x6000U, 0x0000U}) {
    _mm_setcsr(environment);  // flush and denormals-are-zero; down; to zero; everything traps
    const Fingerprint got = fingerprintOf(bytes, DType::Float32);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after, environment);
    EXPECT_TRUE(sameBits(got.statistics, expected.statistics));
    EXPECT_TRUE(sameBits(got.sketch, expected.sketch));
  }
}
#endif

TEST(Statistics, AreTheSameOnAllThreads) {
  const std::vector<uint8_t> bytes = mixedBytes(DType::Float32, 100000, 4);
  const Fingerprint expected = fingerprintOf(bytes, DType::Float32);
  std::vector<Fingerprint> results(8);
  std::vector<std::thread> threads;
  for (Fingerprint& result : results) {
    threads.emplace_back([&] { result = fingerprintOf(bytes, DType::Float32); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Fingerprint& result : results) {
    EXPECT_EQ(result.digest, expected.digest);
    EXPECT_TRUE(sameBits(result.statistics, expected.statistics));
    EXPECT_TRUE(sameBits(result.sketch, expected.sketch));
  }
}

}  // namespace
}  // namespace ulpscope::test
