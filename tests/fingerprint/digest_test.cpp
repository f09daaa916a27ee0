// What a digest must tell apart, and what it must not.

#include <algorithm>
#include <cmath>
#include <limits>

#include "fingerprint/chunk_hash.h"
#include "reference.h"

namespace ulpscope::test {
namespace {

using Floats = std::vector<float>;

Digest digestOf(const Floats& values) {
  return fingerprintOf(values, DType::Float32).digest;
}

TEST(Digest, TellsApartWhatSumsDoNot) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<Floats, Floats>> pairs{
      {{1, 2, 3}, {3, 2, 1}},                      // permuted
      {{1, -2, 3}, {-1, 2, 3}},                    // signs flipped, equal norm
      {{1, 3}, {2, 2}},                            // equal sum
      {{0, 0}, {1, -1}},                           // equal sum
      {{0}, {-0.0F}},                              // equal numbers
      {{infinity}, {-infinity}},                   //
      {{1, 1}, {2, 2}},                            // xor of the words is 0
      {{0}, {0, 0}},                               // length alone
      {{}, {0}},                                   //
      {Floats(20000, 0.0F), Floats(20000, 1.0F)},  // zeros and ones
      {Floats(20000, 0.0F), Floats(20001, 0.0F)},  //
  };
  for (const auto& [a, b] : pairs) {
    SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(Floats(
                     a.begin(), a.begin() + std::min<int64_t>(3, static_cast<int64_t>(a.size())))));
    EXPECT_NE(digestOf(a), digestOf(b));
    EXPECT_EQ(digestOf(a), digestOf(Floats(a)));
  }
}

TEST(Digest, TellsNaNsApart) {
  float quiet = std::numeric_limits<float>::quiet_NaN();
  uint32_t bits;
  std::memcpy(&bits, &quiet, sizeof bits);
  bits ^= 1;
  float other;
  std::memcpy(&other, &bits, sizeof bits);
  EXPECT_NE(digestOf({quiet}), digestOf({other}));
  EXPECT_EQ(digestOf({quiet}), digestOf({quiet}));
}

TEST(Digest, TellsExchangedChunksApart) {
  const size_t perChunk = static_cast<size_t>(kChunkBytes) / sizeof(float);
  Floats values(3 * perChunk);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  Floats exchanged = values;
  std::swap_ranges(exchanged.begin(), exchanged.begin() + static_cast<int64_t>(perChunk),
                   exchanged.begin() + static_cast<int64_t>(perChunk));
  EXPECT_NE(digestOf(values), digestOf(exchanged));
}

// Where in the tensor an element stands must not matter to whether its change is seen.
TEST(Digest, SeesEachBitOfEachElement) {
  Floats values(300, 1.0F);
  const Digest before = digestOf(values);
  for (float& value : values) {
    for (int bit = 0; bit < 32; ++bit) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      bits ^= 1U << bit;
      std::memcpy(&value, &bits, sizeof bits);
      EXPECT_NE(digestOf(values), before);
      bits ^= 1U << bit;
      std::memcpy(&value, &bits, sizeof bits);
    }
  }
}

TEST(Digest, SeesOneUlpInSixteenMillionElements) {
  Floats values(16 << 20);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i % 100003)) + 0.01F;
  }
  const Fingerprint before = fingerprintOf(values, DType::Float32);
  for (const size_t at : {size_t{0}, size_t{12345678}, values.size() - 1}) {
    const float old = values[at];
    values[at] = std::nextafter(old, 10.0F);
    const Fingerprint after = fingerprintOf(values, DType::Float32);
    EXPECT_NE(after.digest, before.digest);
    const double moved = static_cast<double>(values[at]) - static_cast<double>(old);
    const Comparison result = compare(before, DType::Float32, after, DType::Float32);
    EXPECT_FALSE(result.identical);
    EXPECT_NEAR(result.distance / moved, 1, 1e-4) << at;  // one component: exact but for rounding
    values[at] = old;
  }
  EXPECT_EQ(fingerprintOf(values, DType::Float32).digest, before.digest);
}

TEST(Digest, DTypeIsComparedBesideIt) {
  const std::vector<uint32_t> words{1, 2, 3};
  EXPECT_EQ(fingerprintOf(words, DType::Float32).digest, fingerprintOf(words, DType::Int32).digest);
}

TEST(Digest, IsTheSameOnEveryInstructionSet) {
  std::vector<uint8_t> bytes(static_cast<size_t>(kChunkBytes) + 8);
  std::mt19937_64 random(11);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  const auto check = [&](size_t offset, size_t length) {
    const Hash128 expected = hash_detail::hashSse2(bytes.data() + offset, length);
    const auto same = [&expected](const Hash128& hash) {
      return hash.low == expected.low && hash.high == expected.high;
    };
    EXPECT_TRUE(same(hashBytes(bytes.data() + offset, length))) << offset << " " << length;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
      EXPECT_TRUE(same(hash_detail::hashAvx2(bytes.data() + offset, length))) << length;
    }
    if (__builtin_cpu_supports("avx512f")) {
      EXPECT_TRUE(same(hash_detail::hashAvx512(bytes.data() + offset, length))) << length;
    }
#endif
  };
  for (size_t length = 0; length <= 2200; ++length) check(length % 8, length);
  for (const size_t length : {size_t{4096}, size_t{65535}, size_t{65536}}) check(3, length);
}

}  // namespace
}  // namespace ulpscope::test
