// Tolerances for some ops, the first difference alone, and the account of a pair.
#include <gtest/gtest.h>

#include <fstream>

#include "diff/account.h"
#include "diff/diff.h"
#include "store/error.h"
#include "tests/diff/toy_program.h"
#include "tests/support/temp_folder.h"

namespace ulpscope::testing {
namespace {

class Evidence : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::string a() const { return folder_.file("a.ulps"); }
  std::string b() const { return folder_.file("b.ulps"); }
  std::string rules(const std::string& text) {
    std::ofstream(folder_.file("rules.toml"), std::ios::trunc) << text;
    return folder_.file("rules.toml");
  }
};

TEST_F(Evidence, ARuleAllowsWhatItNames) {
  const auto write = [](const std::string& path, double y) {
    TraceBuilder t(path);
    Tensor x = t.tensor({2}, {1, 2});
    Tensor h = t.tensor({2}, {y, 2});
    auto scope = t.module("encoder.0", "Linear");
    t.op("aten::gelu", {x}, {h});
    t.op("aten::neg", {h}, {t.tensor({2}, {-y, -2})});
  };
  write(a(), 1);
  write(b(), 1.001);
  DiffOptions options;
  EXPECT_EQ(diff(a(), b(), options).verdict, Verdict::numeric);
  const auto verdict = [&](const std::string& text) {
    options.rulesFile = rules(text);
    return diff(a(), b(), options).verdict;
  };
  // What neg reads was made by gelu, whose rule allows it; neg has to have one of its own.
  EXPECT_EQ(verdict("[[rule]]\nrtol = 0.01\n"), Verdict::withinTolerance);
  EXPECT_EQ(verdict("[[rule]]\nop = \"aten::gelu\"\nrtol = 0.01\n"
                    "[[rule]]\nop = \"*neg\"\natol = 0.01\n"), Verdict::withinTolerance);
  EXPECT_EQ(verdict("[[rule]]\nop = \"aten::gelu\"\nrtol = 1e-6\n[[rule]]\nrtol = 0.01\n"),
            Verdict::numeric) << "the first rule that matches counts";
  EXPECT_EQ(verdict("[[rule]]\nmodule = \"encoder.*\"\nphase = \"forward\"\nrtol = 0.01\n"),
            Verdict::withinTolerance);
  EXPECT_EQ(verdict("[[rule]]\nmodule = \"decoder.*\"\nrtol = 0.01\n"), Verdict::numeric);
  EXPECT_EQ(verdict("[[rule]]\nphase = \"backward\"\nrtol = 0.01\n"), Verdict::numeric);
  EXPECT_EQ(verdict("[[rule]]\ndtype = \"float16\"\nrtol = 0.01\n"), Verdict::numeric);
  for (const char* wrong : {"rule = 1\n", "[[rule]]\nrtol = -1\n", "[[rule]]\nops = \"x\"\n", "[[",
                            "[[rule]]\nop = 3\n"}) {
    options.rulesFile = rules(wrong);
    EXPECT_THROW(diff(a(), b(), options), TraceError) << wrong;
  }
  options.rulesFile = folder_.file("none.toml");
  EXPECT_THROW(diff(a(), b(), options), TraceError);
}

TEST_F(Evidence, FirstReadsNoMoreStepsThanItNeeds) {
  ToyOptions ten;
  ten.steps = 10;
  ToyOptions faulty = ten;
  faulty.faults = {{Fault::scaled, 3}};
  const ToyProgram programA(a(), ten), programB(b(), faulty);
  const DiffResult whole = diff(a(), b(), {});
  DiffOptions options;
  options.firstOnly = true;
  const DiffResult early = diff(a(), b(), options);
  ASSERT_TRUE(early.first && whole.first);
  EXPECT_EQ(early.first->a->id, whole.first->a->id);
  EXPECT_EQ(early.first->b->id, whole.first->b->id);
  EXPECT_EQ(early.verdict, whole.verdict);
  EXPECT_LT(early.a.ops.ops.size() * 5, whole.a.ops.ops.size());
  EXPECT_EQ(early.a.ops.ops.back().step, 0);

  // Nothing differs: then all of it has to be read.
  const ToyProgram same(b(), ten);
  const DiffResult equal = diff(a(), b(), options);
  EXPECT_EQ(equal.verdict, Verdict::identical);
  EXPECT_EQ(equal.a.ops.ops.size(), whole.a.ops.ops.size());
}

TEST_F(Evidence, AnAccountLeadsBackToTheOrigin) {
  const auto write = [](const std::string& path, double y) {
    TraceBuilder t(path);
    Tensor x = t.tensor({2}, {1, 2});
    Tensor h = t.tensor({2}, {y, 2});
    Tensor g = t.tensor({2}, {-y, -2});
    t.op("aten::gelu", {x}, {h});
    t.op("aten::neg", {h}, {g});
    t.op("aten::abs", {g}, {t.tensor({2}, {y, 2})});
  };
  write(a(), 1);
  write(b(), 1.001);
  const DiffResult result = diff(a(), b(), {});
  const int32_t last = pairOf(result, true, OpId{3});
  ASSERT_GE(last, 0);
  const PairAccount account = accountFor(result, last);
  ASSERT_EQ(account.operands.size(), 2U);
  EXPECT_TRUE(account.operands[0].read && account.operands[0].differs);
  EXPECT_NE(account.operands[0].maker.find("aten::neg #2"), std::string::npos);
  ASSERT_EQ(account.path.size(), 3U);
  EXPECT_EQ(account.path.front(), result.first->pair);
  EXPECT_EQ(account.path.back(), last);
  EXPECT_FALSE(account.reasons.empty());
  EXPECT_FALSE(account.pairing.empty());
  EXPECT_EQ(accountFor(result, result.first->pair).operands[0].finding, "identical");
  EXPECT_EQ(pairOf(result, true, OpId{99}), -1);
  EXPECT_TRUE(accountFor(result, -1).pairing.empty());
}

}  // namespace
}  // namespace ulpscope::testing
