// A view's fingerprint is that of its logical elements, whatever their layout.

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "reference.h"

namespace ulpscope::test {
namespace {

struct Layout {
  std::string name;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;  // of the element (0, ..., 0) in the storage
};

// Logical elements one by one: the definition.
std::vector<uint8_t> gather(const std::vector<uint8_t>& storage, const Layout& layout,
                            int64_t bytes) {
  std::vector<uint8_t> packed;
  const int64_t count =
      std::accumulate(layout.sizes.begin(), layout.sizes.end(), int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t at = layout.offset;
    for (size_t d = layout.sizes.size(); d-- > 0;) {
      at += rest % layout.sizes[d] * layout.strides[d];
      rest /= layout.sizes[d];
    }
    packed.insert(packed.end(), storage.begin() + at * bytes, storage.begin() + (at + 1) * bytes);
  }
  return packed;
}

StridedView viewOf(const std::vector<uint8_t>& storage, const Layout& layout, DType dtype) {
  StridedView view{storage.data() + layout.offset * info(dtype).bytes, dtype};
  view.dim = static_cast<int32_t>(layout.sizes.size());
  view.sizes = layout.sizes.data();
  view.strides = layout.strides.data();
  return view;
}

void expectSame(const Fingerprint& got, const Fingerprint& expected) {
  EXPECT_EQ(toHex(got.digest), toHex(expected.digest));
  EXPECT_TRUE(sameBits(got.statistics, expected.statistics));
  EXPECT_TRUE(sameBits(got.sketch, expected.sketch));
}

std::vector<Layout> layouts() {
  return {
      {"scalar", {}, {}},
      {"ones", {1, 1, 1}, {7, 3, 9}},
      {"contiguous", {31, 17, 5}, {85, 5, 1}},
      {"transposed", {37, 53}, {1, 37}},
      {"transposedOverChunks", {300, 400}, {1, 300}},
      {"transposedWithLongRows", {3, 40000}, {1, 3}},
      {"channelsLast", {2, 16, 31, 29}, {16 * 31 * 29, 1, 16 * 29, 16}},
      {"oneChannelOfChannelsLast", {2, 1, 31, 29}, {16 * 31 * 29, 1, 16 * 29, 16}, 5},
      {"permuted210", {13, 11, 17}, {1, 13, 13 * 11}},
      {"heads", {2, 12, 64, 32}, {64 * 384, 32, 384, 1}},
      {"narrow", {1000, 7}, {12, 1}, 3},
      {"narrowLongRows", {100, 700}, {800, 1}, 3},
      {"everySecond", {70000}, {2}, 1},
      {"everyThirdRow", {50, 40}, {120, 1}},
      {"expandedRows", {700, 300}, {0, 1}},
      {"expandedColumns", {700, 300}, {1, 0}},
      {"expandedMiddle", {40, 50, 60}, {60, 0, 1}},
      {"expandedScalar", {300, 400}, {0, 0}},
      {"reversed", {70001}, {-1}, 70000},
      {"reversedRows", {100, 90}, {-90, 1}, 99 * 90},
      {"reversedBoth", {100, 90}, {-90, -1}, 8999},
      {"reversedTransposed", {100, 90}, {-1, -100}, 8999},
      {"unfolded", {500, 9}, {1, 1}},
      {"diagonal", {300}, {301}},
      {"manyDimensions",
       {2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3},
       {1, 5, 2, 5, 4, 5, 8, 5, 16, 5, 32, 5, 64, 128}},
  };
}

class EveryLayout : public ::testing::TestWithParam<std::tuple<DType, Layout>> {};

TEST_P(EveryLayout, EqualsItsContiguousCopy) {
  const auto& [dtype, layout] = GetParam();
  const std::vector<uint8_t> storage = mixedBytes(dtype, 160000, 3);
  const std::vector<uint8_t> packed = gather(storage, layout, info(dtype).bytes);
  expectSame(fingerprint(viewOf(storage, layout, dtype), Level::full),
             fingerprintOf(packed, dtype));
}

// One dtype of each element size; the reader knows nothing else of them.
INSTANTIATE_TEST_SUITE_P(Strided, EveryLayout,
                         ::testing::Combine(::testing::Values(DType::UInt8, DType::BFloat16,
                                                              DType::Float32, DType::Float64,
                                                              DType::Complex128),
                                            ::testing::ValuesIn(layouts())),
                         [](const auto& named) {
                           return std::string(ulpscope::info(std::get<0>(named.param)).name) + "_" +
                                  std::get<1>(named.param).name;
                         });

TEST(Strided, IgnoresAlignment) {
  const std::vector<uint8_t> bytes = mixedBytes(DType::Float32, 20000, 5);
  const Fingerprint expected = fingerprintOf(bytes, DType::Float32);
  std::vector<uint8_t> shifted(bytes.size() + 64);
  for (size_t offset = 0; offset < 64; ++offset) {
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + static_cast<int64_t>(offset));
    expectSame(fingerprintOf(shifted.data() + offset, DType::Float32, 20000), expected);
  }
}

TEST(Strided, ShapeIsNotInTheFingerprint) {
  const std::vector<uint8_t> bytes = mixedBytes(DType::Float32, 24, 5);
  const std::vector<int64_t> sizes{2, 3, 4};
  StridedView view{bytes.data(), DType::Float32};
  view.dim = 3;
  view.sizes = sizes.data();
  expectSame(fingerprint(view, Level::full), fingerprintOf(bytes, DType::Float32));
}

TEST(Strided, NothingToReadIsEmpty) {
  const float value = 1;
  const int64_t one = 1;
  const int64_t none = 0;
  const int64_t negative = -3;
  const std::vector<int64_t> huge{int64_t{1} << 40, int64_t{1} << 40};
  const auto expectEmpty = [](const StridedView& view) {
    const Fingerprint got = fingerprint(view, Level::full);
    EXPECT_EQ(toHex(got.digest), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of no bytes
    EXPECT_EQ(got.statistics.components, 0U);
    EXPECT_EQ(got.statistics.min, std::numeric_limits<double>::infinity());
    EXPECT_EQ(got.statistics.max, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(got.sketch, Sketch{});
  };
  expectEmpty(StridedView{});
  expectEmpty(StridedView{nullptr, DType::Float32, false, false, 1, &one, nullptr});
  expectEmpty(StridedView{&value, DType::Undefined, false, false, 1, &one, nullptr});
  expectEmpty(StridedView{&value, static_cast<DType>(200), false, false, 1, &one, nullptr});
  expectEmpty(StridedView{&value, DType::Float32, false, false, 1, &none, nullptr});
  expectEmpty(StridedView{&value, DType::Float32, false, false, 1, &negative, nullptr});
  expectEmpty(StridedView{&value, DType::Float32, false, false, 2, huge.data(), nullptr});
}

TEST(Strided, LevelsContainEachOther) {
  const std::vector<uint8_t> bytes = mixedBytes(DType::Float32, 40000, 5);
  const int64_t elements = 40000;
  const StridedView view{bytes.data(), DType::Float32, false, false, 1, &elements, nullptr};
  const Fingerprint full = fingerprint(view, Level::full);
  const Fingerprint statistics = fingerprint(view, Level::statistics);
  const Fingerprint digest = fingerprint(view, Level::digest);
  EXPECT_EQ(full.digest, digest.digest);
  EXPECT_EQ(full.digest, statistics.digest);
  EXPECT_TRUE(sameBits(full.statistics, statistics.statistics));
  EXPECT_EQ(digest.level, Level::digest);
  EXPECT_EQ(statistics.level, Level::statistics);
  EXPECT_EQ(full.level, Level::full);
}

// What torch's resolve_neg() and resolve_conj() would give, component by component.
std::vector<uint8_t> resolved(std::vector<uint8_t> bytes, DType dtype, bool conjugate,
                              bool negative) {
  const DTypeInfo& type = info(dtype);
  const bool isComplex = type.kind == NumberKind::complex;
  const size_t size = type.bytes / (isComplex ? 2U : 1U);
  for (size_t c = 0; c < bytes.size() / size; ++c) {
    const bool flip = negative != (isComplex && conjugate && c % 2 == 1);
    if (!flip) continue;
    uint8_t* at = bytes.data() + c * size;
    if (type.kind == NumberKind::floating || isComplex) {
      const bool zeroHasNoSign = dtype == DType::Float8_e5m2fnuz || dtype == DType::Float8_e4m3fnuz;
      if (dtype == DType::Float8_e8m0fnu) continue;
      if (zeroHasNoSign && (*at & 0x7f) == 0) continue;
      at[size - 1] ^= 0x80;
    } else if (type.kind == NumberKind::signedInt || type.kind == NumberKind::unsignedInt) {
      int carry = 1;
      for (size_t b = 0; b < size; ++b) {
        const int sum = static_cast<uint8_t>(~at[b]) + carry;
        at[b] = static_cast<uint8_t>(sum);
        carry = sum >> 8;
      }
    }
  }
  return bytes;
}

class LazyBits : public ::testing::TestWithParam<DType> {};

TEST_P(LazyBits, EqualResolvedCopies) {
  const DType dtype = GetParam();
  for (const size_t elements : {size_t{1}, size_t{3}, size_t{1001}, size_t{70001}}) {
    const std::vector<uint8_t> bytes = mixedBytes(dtype, elements, elements);
    const auto size = static_cast<int64_t>(elements);
    for (const bool conjugate : {false, true}) {
      for (const bool negative : {false, true}) {
        SCOPED_TRACE(::testing::Message() << elements << conjugate << negative);
        StridedView view{bytes.data(), dtype, conjugate, negative, 1, &size, nullptr};
        const auto expected = fingerprintOf(resolved(bytes, dtype, conjugate, negative), dtype);
        expectSame(fingerprint(view, Level::full), expected);
      }
    }
  }
}

TEST_P(LazyBits, EqualResolvedCopiesWhenStrided) {
  const DType dtype = GetParam();
  const std::vector<uint8_t> storage = mixedBytes(dtype, 160000, 8);
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    StridedView view = viewOf(storage, layout, dtype);
    view.conjugate = true;
    view.negative = true;
    const auto packed = gather(storage, layout, info(dtype).bytes);
    expectSame(fingerprint(view, Level::full),
               fingerprintOf(resolved(packed, dtype, true, true), dtype));
  }
}

INSTANTIATE_TEST_SUITE_P(Strided, LazyBits, ::testing::ValuesIn(allDTypes()),
                         [](const auto& named) {
                           return std::string(ulpscope::info(named.param).name);
                         });

}  // namespace
}  // namespace ulpscope::test
