// All instruction sets give the bits of the scalar reference.

#include <hwy/targets.h>

#include "reference.h"

namespace ulpscope::test {
namespace {

// Runs `check` with each instruction set that this processor has and the library was built for.
template <class Check>
void onEachTarget(Check check) {
  std::vector<std::string> names;
  for (int64_t target :
       {int64_t{HWY_AVX3}, int64_t{HWY_AVX2}, int64_t{HWY_SSE4}, int64_t{HWY_SCALAR}}) {
    hwy::SetSupportedTargetsForTest(0);
    if (target != HWY_SCALAR && (hwy::SupportedTargets() & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    names.emplace_back(instructionSet());
    SCOPED_TRACE(instructionSet());
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  EXPECT_GE(names.size(), 2U);  // one target only would compare nothing
  EXPECT_EQ(names.back(), "SSE2");
}

void expectReference(const std::vector<uint8_t>& bytes, DType dtype) {
  const Fingerprint got = fingerprintOf(bytes, dtype);
  const Reference expected = reference(bytes, dtype);
  EXPECT_TRUE(sameBits(got.statistics, expected.statistics));
  EXPECT_TRUE(sameBits(got.sketch, expected.sketch));
  // Without statistics, xxHash alone computes the digest.
  const auto elements = static_cast<int64_t>(bytes.size() / info(dtype).bytes);
  const StridedView view{bytes.data(), dtype, false, false, 1, &elements, nullptr};
  EXPECT_EQ(toHex(got.digest), toHex(fingerprint(view, Level::digest).digest));
}

class EveryDType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryDType, EqualsReferenceAtEveryLength) {
  onEachTarget([] {
    for (size_t elements = 0; elements <= 200; ++elements) {
      SCOPED_TRACE(elements);
      expectReference(mixedBytes(GetParam(), elements, elements), GetParam());
      expectReference(finiteBytes(GetParam(), elements, elements), GetParam());
      if (::testing::Test::HasFailure()) return;
    }
  });
}

TEST_P(EveryDType, EqualsReferenceOverBlocksAndChunks) {
  const auto perChunk = static_cast<size_t>(kChunkBytes / info(GetParam()).bytes);
  onEachTarget([perChunk] {
    for (const size_t elements : {size_t{1023}, size_t{1024}, size_t{1025}, size_t{2061},
                                  perChunk - 1, perChunk, perChunk + 1, 3 * perChunk + 37}) {
      SCOPED_TRACE(elements);
      expectReference(mixedBytes(GetParam(), elements, elements), GetParam());
      expectReference(finiteBytes(GetParam(), elements, elements), GetParam());
      if (::testing::Test::HasFailure()) return;
    }
  });
}

// 8- and 16-bit formats: every value there is.
TEST_P(EveryDType, EqualsReferenceOnAllSmallPatterns) {
  std::vector<uint8_t> bytes;
  for (unsigned pattern = 0; pattern < 65536; ++pattern) {
    bytes.push_back(static_cast<uint8_t>(pattern));
    bytes.push_back(static_cast<uint8_t>(pattern >> 8));
  }
  onEachTarget([&bytes] { expectReference(bytes, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(Targets, EveryDType, ::testing::ValuesIn(allDTypes()),
                         [](const auto& named) {
                           return std::string(ulpscope::info(named.param).name);
                         });

}  // namespace
}  // namespace ulpscope::test
