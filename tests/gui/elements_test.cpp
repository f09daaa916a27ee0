#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "gui/models/element_values.h"
#include "store/writer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_builder.h"

namespace ulpscope::gui {
namespace {

template <class T>
std::vector<std::byte> bytesOf(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Elements, DecodeByDType) {
  EXPECT_EQ(decodeElements(DType::Float32, bytesOf<float>({1.5F, -2})), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(decodeElements(DType::Float16, bytesOf<uint16_t>({0x3c00, 0xc000})),
            (std::vector<double>{1, -2}));
  EXPECT_EQ(decodeElements(DType::BFloat16, bytesOf<uint16_t>({0x3f80})), std::vector<double>{1});
  EXPECT_EQ(decodeElements(DType::Float8_e4m3fn, bytesOf<uint8_t>({0x38})), std::vector<double>{1});
  EXPECT_EQ(decodeElements(DType::Int64, bytesOf<int64_t>({-3})), std::vector<double>{-3});
  EXPECT_EQ(decodeElements(DType::UInt8, bytesOf<uint8_t>({200})), std::vector<double>{200});
  EXPECT_EQ(decodeElements(DType::Bool, bytesOf<uint8_t>({1, 0})), (std::vector<double>{1, 0}));
  EXPECT_EQ(decodeElements(DType::Complex64, bytesOf<float>({1, 2})), (std::vector<double>{1, 2}));
  EXPECT_TRUE(decodeElements(DType::Float64, bytesOf<uint8_t>({1, 2, 3})).empty()) << "no whole element";
  EXPECT_TRUE(decodeElements(DType::Undefined, bytesOf<uint8_t>({1})).empty());
}

class ElementsOfTwoTraces : public ::testing::Test {
 protected:
  /// A trace whose one op writes these floats, with the values kept.
  FingerprintId write(const std::string& path, const std::vector<float>& values,
                      const std::vector<int64_t>& sizes) {
    testing::TraceBuilder builder(path);
    builder.op("aten::exp", {}, {builder.tensor(sizes, {values.begin(), values.end()})});
    builder.flush();
    Reader early(path);
    const FingerprintId id = early.readAll().operands.at(0).fingerprint;
    builder.writer().capture(OpId{1}, early.digest(id), 0, int64_t(values.size() * 4), bytesOf(values));
    builder.finish();
    return id;
  }
  ElementPicture compare(const std::vector<float>& a, const std::vector<float>& b,
                         const std::vector<int64_t>& sizes) {
    ElementRequest request;
    request.type.dtype = DType::Float32;
    request.type.sizes = sizes;
    request.pathA = folder_.file("a.ulps");
    request.pathB = folder_.file("b.ulps");
    request.a = write(request.pathA, a, sizes);
    if (!b.empty()) request.b = write(request.pathB, b, sizes);
    return loadElements(request);
  }
  testing::TempFolder folder_;
};

TEST_F(ElementsOfTwoTraces, FindTheLargestDifferenceAndItsPlace) {
  const auto picture = compare({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4.5F, 5, 6}, {2, 1, 3});
  ASSERT_EQ(picture.elements(), 6);
  EXPECT_EQ(picture.rows, 2);
  EXPECT_EQ(picture.columns, 3);
  EXPECT_EQ(picture.differing, 1);
  EXPECT_EQ(picture.worst, 3);
  EXPECT_EQ(picture.largest, 0.5);
  EXPECT_EQ(picture.indexText(3).toStdString(), "[1, 0, 0]");
  EXPECT_EQ(picture.elementText(3).toStdString(), "A 4, B 4.5, difference 0.5");
  EXPECT_EQ(picture.histogram[0].count, 5);
}

TEST_F(ElementsOfTwoTraces, CountUlps) {
  const auto picture = compare({1, 1}, {std::nextafterf(1, 2), 1}, {2});
  EXPECT_EQ(picture.largestUlps, 1);
  EXPECT_EQ(picture.histogram[1].count, 1);
  EXPECT_TRUE(picture.summary().endsWith("at most 1 ulp")) << picture.summary().toStdString();
}

TEST_F(ElementsOfTwoTraces, ANaNOnOneSideIsTheLargestDifference) {
  const auto picture = compare({1, 2, NAN}, {1, NAN, NAN}, {3});
  EXPECT_EQ(picture.worst, 1);
  EXPECT_TRUE(std::isinf(picture.shown[1]));
  EXPECT_EQ(picture.shown[2], 0) << "NaN on both sides";
  EXPECT_TRUE(std::isinf(picture.histogram.back().upper));
}

TEST_F(ElementsOfTwoTraces, OneSideAloneShowsItsValues) {
  const auto picture = compare({1, -8, 3}, {}, {3});
  EXPECT_FALSE(picture.both);
  EXPECT_TRUE(picture.histogram.empty());
  EXPECT_EQ(picture.largest, 8);
  EXPECT_EQ(picture.worst, 1);
  EXPECT_EQ(picture.shown[1], -8);
}

TEST_F(ElementsOfTwoTraces, LongVectorsAreFolded) {
  const std::vector<float> values(1000, 1);
  const auto picture = compare(values, values, {1000});
  EXPECT_EQ(picture.columns, 32);
  EXPECT_EQ(picture.rows, 32);
  EXPECT_EQ(picture.differing, 0);
  EXPECT_TRUE(picture.summary().contains("equal"));
}

}  // namespace
}  // namespace ulpscope::gui
