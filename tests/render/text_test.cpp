#include <gtest/gtest.h>

#include <sstream>

#include "diff/render/render.h"
#include "tests/render/results.h"

namespace ulpscope {
namespace {

std::string text(const DiffResult& result, TextOptions options = {}) {
  std::ostringstream out;
  renderText(result, out, options);
  return out.str();
}

TEST(Text, SaysThatRunsAreIdentical) {
  EXPECT_EQ(text(testing::identicalResult()),
            "Identical: all 1,200 aligned ops agree bit for bit.\n"
            "\n"
            "environment  no setting differs\n"
            "aligned      all 1,200 ops\n"
            "coverage     A and B: all 3,600 tensors hashed, closure 100%\n"
            "\n"
            "next: ulpscope show a.ulps\n");
}

TEST(Text, NamesTheFirstOpAndGivesTheEvidence) {
  EXPECT_EQ(
      text(testing::numericResult()),
      "First divergent op: aten::native_layer_norm, output 0 (rounding)\n"
      "  where      step 0, forward, transformer.h.0.ln_1 (LayerNorm), modeling_gpt2.py:412 in forward\n"
      "  in B       kernel cpp_fused_0, which also holds aten::embedding, aten::add (#5)\n"
      "  inputs     3 of 3 identical\n"
      "  output     f32[2, 64, 128], 2.1e-07 relative, about 1.1 ulp\n"
      "  why        All inputs agree, the output does not.\n"
      "  sure       0.98: paired by the source ops of the kernel\n"
      "  ops        #8 of A, #5 of B\n"
      "\n"
      "Dominant: aten::mm in step 1, backward, lm_head (Linear): adds 61% of the final error.\n"
      "\n"
      "One more starts on its own:\n"
      "  aten::mm  step 1, backward, lm_head (Linear)  rounding  f32[2, 64, 128], 2.1e-07 relative, "
      "about 1.1 ulp\n"
      "\n"
      "3 ops after them start to differ on their own; 485 carry the difference on; 10 heal it.\n"
      "\n"
      "environment  1 setting differs: torch.compile (off | inductor)\n"
      "aligned      all 2,000 ops; 1 kernel of B stands for 1 op of A\n"
      "coverage     A: all 6,000 tensors hashed, closure 100%\n"
      "             B: 5,995 of 6,000 tensors hashed (skipped: uninitialised 5), closure 100%\n"
      "\n"
      "next: ulpscope view eager.ulps compiled.ulps\n");
}

TEST(Text, SaysThatAnOpIsMissingAndThatATraceWasCutShort) {
  const std::string answer = text(testing::structuralResult());
  EXPECT_TRUE(answer.starts_with("First structural difference: aten::native_dropout runs in A and has "
                                 "no partner in B\n"))
      << answer;
  EXPECT_NE(answer.find("aligned      9 of 10 ops of A, 9 of 9 of B\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("cut short: the run did not end cleanly\n"), std::string::npos) << answer;
}

TEST(Text, SaysWhyRunsCannotBeCompared) {
  EXPECT_TRUE(text(testing::notComparableResult())
                  .starts_with("Not comparable: the traces have no op in common.\n"));
}

TEST(Text, CallsAnotherRandomStreamExpected) {
  DiffResult result = testing::structuralResult();
  result.verdict = Verdict::numeric;
  result.first->label = Label::origin;
  result.first->difference = Difference::random;
  result.first->expected = true;
  EXPECT_TRUE(text(result).starts_with(
      "First difference: aten::native_dropout draws random numbers of another stream, expected\n"));
}

TEST(Text, SaysThatADifferenceIsInsideACompiledRegion) {
  DiffResult result = testing::numericResult();
  result.b.ops.ops[7].kind = OpKind::compiled;
  result.first->b = OriginSide{OpId{5}, "inductor::graph", "", {}};
  EXPECT_TRUE(text(result).starts_with(
      "First divergence: inside the compiled region inductor::graph of B, output 0 (rounding)\n"))
      << text(result);
}

TEST(Text, CallsTensorsWithoutAProducerASource) {
  DiffResult result = testing::numericResult();
  result.first->label = Label::source;
  result.first->operandRole = Role::input;
  result.first->operandIndex = 1;
  result.first->difference = Difference::numeric;
  EXPECT_TRUE(text(result).starts_with("First difference: a tensor that no recorded op made, read by "
                                       "aten::native_layer_norm, input 1 (numeric)\n"))
      << text(result);
}

TEST(Text, ColoursOnlyWhenAsked) {
  EXPECT_EQ(text(testing::numericResult()).find('\x1b'), std::string::npos);
  TextOptions options;
  options.colour = true;
  EXPECT_NE(text(testing::numericResult(), options).find('\x1b'), std::string::npos);
}

TEST(Text, NamesTheNextCommandWithTheNamesThatWereTyped) {
  TextOptions options;
  options.nameA = "my runs/a.ulps";
  options.nameB = "b.ulps";
  const std::string answer = text(testing::numericResult(), options);
  EXPECT_TRUE(answer.ends_with("\nnext: ulpscope view 'my runs/a.ulps' b.ulps\n")) << answer;
}

}  // namespace
}  // namespace ulpscope
