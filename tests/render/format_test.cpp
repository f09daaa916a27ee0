#include "diff/render/format.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace ulpscope {
namespace {

TEST(Format, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

TEST(Format, CountsInWords) {
  EXPECT_EQ(counted(1, "op"), "1 op");
  EXPECT_EQ(counted(0, "op"), "0 ops");
  EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

TEST(Format, NeverRoundsAShareToAllOrNothing) {
  EXPECT_EQ(percent(0), "0%");
  EXPECT_EQ(percent(1), "100%");
  EXPECT_EQ(percent(0.5), "50%");
  EXPECT_EQ(percent(0.99996), ">99.99%");
  EXPECT_EQ(percent(0.9996), "99.96%");
  EXPECT_EQ(percent(0.995), "99.5%");
  EXPECT_EQ(percent(0.00001), "<0.01%");
  EXPECT_EQ(percent(std::nan("")), "?");
}

TEST(Format, ShowsMagnitudesInTwoDigits) {
  EXPECT_EQ(magnitude(2.123e-7), "2.1e-07");
  EXPECT_EQ(magnitude(0.0571), "0.057");
  EXPECT_EQ(magnitude(74.2), "74");
  EXPECT_EQ(magnitude(1.11), "1.1");
  EXPECT_EQ(magnitude(0), "0");
  EXPECT_EQ(magnitude(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Format, NamesTensors) {
  const std::array<int64_t, 3> sizes = {2, 64, 128};
  EXPECT_EQ(tensorText(DType::Float32, sizes), "f32[2, 64, 128]");
  EXPECT_EQ(tensorText(DType::Int64, {}), "i64[]");
}

TEST(Format, QuotesForAShell) {
  EXPECT_EQ(shellQuoted("runs/a.ulps"), "runs/a.ulps");
  EXPECT_EQ(shellQuoted("my run.ulps"), "'my run.ulps'");
  EXPECT_EQ(shellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shellQuoted(""), "''");
}

TEST(Format, FindsTheProgramsOwnFrame) {
  const Frame torch{"/x/site-packages/torch/nn/functional.py", 1, "linear"};
  const Frame own{"/home/me/torch/train.py", 7, "main"};
  EXPECT_EQ(programFrame({}), nullptr);
  const Stack both = {torch, own};
  EXPECT_EQ(programFrame(both)->line, 7);
  const Stack one = {torch};
  EXPECT_EQ(programFrame(one)->line, 1);
}

}  // namespace
}  // namespace ulpscope
