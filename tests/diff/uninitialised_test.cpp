// Memory that nobody had written holds something else in each run: that alone is no divergence.

#include <gtest/gtest.h>

#include "diff/diff.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_builder.h"

namespace ulpscope::testing {
namespace {

class Uninitialised : public ::testing::Test {
 protected:
  std::string file(int run) const { return folder_.file(run == 0 ? "a.ulps" : "b.ulps"); }

  /// Rows of an empty tensor are filled one after the other; `read`: an op reads it too early.
  void record(int run, bool readEarly) const {
    TraceBuilder t(file(run));
    const double garbage = run == 0 ? 7e9 : -3.0;
    Tensor row = t.tensor({2}, {1, 2});
    Tensor out = t.skipped({2, 2}, SkipReason::uninitialised);
    t.op({.name = "aten::empty", .outputs = {out}});
    t.op({.name = "aten::scatter_", .inputs = {row}, .mutated = {{out, {1, 2, garbage, garbage}}}});
    if (readEarly) {
      t.op({.name = "aten::sum", .inputs = {out}, .outputs = {t.tensor({}, {3 + 2 * garbage})}});
    }
    t.op({.name = "aten::scatter_", .inputs = {row}, .mutated = {{out, {1, 2, 1, 2}}}});
    t.op({.name = "aten::mul", .inputs = {out}, .outputs = {t.tensor({2, 2}, {2, 4, 2, 4})}});
  }
  DiffResult compare(bool readEarly) const {
    record(0, readEarly);
    record(1, readEarly);
    return diff(file(0), file(1), {});
  }
  TempFolder folder_;
};

TEST_F(Uninitialised, WhatIsNotYetWrittenIsNoDifference) {
  const DiffResult result = compare(false);
  EXPECT_EQ(result.verdict, Verdict::identical);
  EXPECT_EQ(result.counts.origin, 0);
}

TEST_F(Uninitialised, AnOpThatComputesWithItIsNamed) {
  const DiffResult result = compare(true);
  EXPECT_EQ(result.verdict, Verdict::numeric);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->op, "aten::sum");
  EXPECT_EQ(result.first->label, Label::source);
  EXPECT_NE(result.first->explanation.find("nobody had written"), std::string::npos);
  EXPECT_EQ(result.frontier.size(), 1u);
}

TEST_F(Uninitialised, AnOpThatReadsItUnwrittenIsNamed) {
  for (int run = 0; run < 2; ++run) {
    TraceBuilder t(file(run));
    Tensor out = t.skipped({2}, SkipReason::uninitialised);
    t.op({.name = "aten::empty", .outputs = {out}});
    t.op({.name = "aten::exp", .inputs = {out}, .outputs = {t.tensor({2}, {run + 0.5, 1})}});
  }
  const DiffResult result = diff(file(0), file(1), {});
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->op, "aten::exp");
  EXPECT_EQ(result.first->label, Label::source);
}

}  // namespace
}  // namespace ulpscope::testing
