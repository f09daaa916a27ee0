// Which parts of a storage two tensors share.
#include "diff/extent.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace ulpscope {
namespace {

TensorType type(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                DType dtype = DType::Float32) {
  TensorType result;
  result.dtype = dtype;
  result.sizes = std::move(sizes);
  result.strides = std::move(strides);
  return result;
}

std::set<int64_t> elements(const TensorType& type, int64_t offset) {
  std::set<int64_t> all{offset};
  for (size_t k = 0; k < type.sizes.size(); ++k) {
    std::set<int64_t> next;
    for (const int64_t at : all) {
      for (int64_t n = 0; n < type.sizes[k]; ++n) next.insert(at + n * type.strides[k]);
    }
    all = next;
  }
  return all;
}

TEST(Extent, ColumnsOfOneMatrixAreApart) {
  // The thirds of a GRU's gates: x.chunk(3, 1) of [3, 72].
  const TensorType third = type({3, 24}, {72, 1});
  EXPECT_FALSE(mayOverlap(third, 0, third, 24));
  EXPECT_FALSE(mayOverlap(third, 48, third, 24));
  EXPECT_TRUE(mayOverlap(third, 0, third, 23));
  EXPECT_TRUE(mayOverlap(third, 24, type({3, 72}, {72, 1}), 0));
  EXPECT_TRUE(covers(type({3, 72}, {72, 1}), 0, third, 24));
  EXPECT_FALSE(covers(third, 24, type({3, 72}, {72, 1}), 0));
  EXPECT_TRUE(covers(third, 24, third, 24));
}

TEST(Extent, EmptyAndUnknown) {
  EXPECT_FALSE(mayOverlap(type({0, 4}, {4, 1}), 0, type({4}, {1}), 0));
  TensorType sparse = type({4}, {});
  sparse.layout = Layout::sparse;
  EXPECT_TRUE(mayOverlap(sparse, 0, type({4}, {1}), 100)) << "not known: says maybe";
  EXPECT_FALSE(covers(sparse, 0, type({4}, {1}), 0));
  EXPECT_TRUE(mayOverlap(type({4}, {1}), 0, type({4}, {1}, DType::Float64), 100));
}

TEST(Extent, AgreesWithCountingElements) {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int apart = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto any = [&] {
      std::vector<int64_t> sizes, strides;
      for (int k = draw(0, 3); k > 0; --k) {
        sizes.push_back(draw(1, 4));
        strides.push_back(draw(0, 12));
      }
      return type(sizes, strides);
    };
    const TensorType a = any(), b = any();
    const int64_t offsetA = draw(0, 20), offsetB = draw(0, 20);
    const std::set<int64_t> ea = elements(a, offsetA), eb = elements(b, offsetB);
    std::vector<int64_t> common, outside;
    std::set_intersection(ea.begin(), ea.end(), eb.begin(), eb.end(), std::back_inserter(common));
    std::set_difference(eb.begin(), eb.end(), ea.begin(), ea.end(), std::back_inserter(outside));
    apart += common.empty();
    // Dense by count alone: an overlapping tensor may pass for one, so only ask where none overlaps.
    const auto plain = [](const TensorType& t, const std::set<int64_t>& e) {
      size_t count = 1;
      for (const int64_t size : t.sizes) count *= size_t(size);
      return count == e.size();
    };
    if (!plain(a, ea) || !plain(b, eb)) continue;
    EXPECT_EQ(mayOverlap(a, offsetA, b, offsetB), !common.empty());
    if (covers(a, offsetA, b, offsetB)) {
      EXPECT_TRUE(outside.empty());
    }
  }
  EXPECT_GT(apart, 300);
}

}  // namespace
}  // namespace ulpscope
