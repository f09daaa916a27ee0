// A compiled region against the eager ops that it stands for.
#include <gtest/gtest.h>

#include "diff/diff.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_builder.h"

namespace ulpscope::testing {
namespace {

struct Values {
  double mm = 2, gelu = 1.5, add = 2.5;
};

class Compiled : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::string a() const { return folder_.file("a.ulps"); }
  std::string b() const { return folder_.file("b.ulps"); }

  static Stack line(int number) { return {{"/src/model.py", number, "forward"}}; }
  static Tensor filled(TraceBuilder& t, double value) { return t.tensor({2, 2}, {value, 1, 2, 3}); }

  /// mm, gelu and add, one op each; then an op that reads the result.
  void eager(const Values& v) const {
    TraceBuilder t(a());
    Tensor x = filled(t, 0.1), w = filled(t, 0.2);
    Tensor m = filled(t, v.mm), g = filled(t, v.gelu), r = filled(t, v.add), last = filled(t, v.add * 2);
    {
      auto scope = t.module("block", "Block");
      t.op({.name = "aten::mm", .inputs = {x, w}, .outputs = {m}, .stack = line(10)});
      t.op({.name = "aten::gelu", .inputs = {m}, .outputs = {g}, .stack = line(11)});
      t.op({.name = "aten::add.Tensor", .inputs = {g, x}, .outputs = {r}, .stack = line(12)});
    }
    t.op({.name = "aten::mul.Tensor", .inputs = {r}, .outputs = {last}, .stack = line(20)});
  }

  static SourceOp source(const std::string& op, int order) {
    return {.node = op + "_node", .op = "aten::" + op, .overload = "default", .module = "block",
            .moduleClass = "Block", .order = order, .stack = line(10 + order)};
  }

  /// The same in one region: an extern mm and, where they are seen, a kernel of gelu and add.
  void compiled(const Values& v, bool kernelsSeen) const {
    TraceBuilder t(b());
    if (!kernelsSeen) t.writer().meta("kernels", "not seen: they are called from C++");
    Tensor x = filled(t, 0.1), w = filled(t, 0.2);
    Tensor m = filled(t, v.mm), r = filled(t, v.add), last = filled(t, v.add * 2);
    const OpId region = t.op({.name = "inductor::graph", .inputs = {x, w}, .outputs = {r},
                              .kind = OpKind::compiled});
    Provenance ofMm{.graph = "g", .kernel = "extern", .sources = {source("mm", 0)}};
    t.op({.name = "aten::mm", .inputs = {x, w}, .outputs = {m}, .provenance = ofMm, .parent = region});
    if (kernelsSeen) {
      Provenance fused{.graph = "g", .kernel = "cpp_fused_add_gelu_0",
                       .sources = {source("gelu", 1), source("add", 2)}};
      fused.ties = {{.arg = 0, .source = 1, .confidence = 1, .how = "only candidate"}};
      t.op({.name = "inductor::cpp_fused_add_gelu_0", .inputs = {m, x}, .outputs = {r},
            .kind = OpKind::kernel, .provenance = fused, .parent = region});
    }
    t.op({.name = "aten::mul.Tensor", .inputs = {r}, .outputs = {last}, .stack = line(20)});
  }
};

TEST_F(Compiled, AgreeingKernelsAreIdentical) {
  eager({});
  compiled({}, true);
  const DiffResult result = diff(a(), b(), {});
  EXPECT_EQ(result.verdict, Verdict::identical);
  EXPECT_EQ(result.counts.structural, 0);
}

TEST_F(Compiled, KernelIsNamedWithItsOps) {
  eager({});
  compiled({.add = 2.75}, true);
  const DiffResult result = diff(a(), b(), {});
  EXPECT_EQ(result.verdict, Verdict::numeric);
  ASSERT_EQ(result.frontier.size(), 1u);
  EXPECT_EQ(result.first->label, Label::origin);
  EXPECT_EQ(result.first->op, "aten::add");
  EXPECT_EQ(result.first->ops, (std::vector<std::string>{"aten::gelu", "aten::add"}));
  ASSERT_TRUE(result.first->b);
  EXPECT_EQ(result.first->b->kernel, "cpp_fused_add_gelu_0");
  EXPECT_EQ(result.first->module, "block");
  EXPECT_EQ(result.first->inputsIdentical, 2);
  EXPECT_EQ(result.first->inputs, 2);
}

TEST_F(Compiled, KernelAfterADifferingExternCarriesItOn) {
  eager({});
  compiled({.mm = 2.5, .add = 2.75}, true);
  const DiffResult result = diff(a(), b(), {});
  ASSERT_EQ(result.frontier.size(), 1u);
  EXPECT_EQ(result.first->op, "aten::mm");
}

TEST_F(Compiled, UnseenKernelsAreInsideTheRegion) {
  eager({});
  compiled({.add = 2.75}, false);
  const DiffResult result = diff(a(), b(), {});
  EXPECT_EQ(result.verdict, Verdict::numeric);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->label, Label::origin);
  ASSERT_TRUE(result.first->b);
  EXPECT_EQ(result.first->b->op, "inductor::graph");
  EXPECT_NE(result.first->explanation.find("inside the compiled region"), std::string::npos);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("they are called from C++"), std::string::npos);
}

TEST_F(Compiled, RegionOfOpsOnlyCarriesOnWhatOneOfThemBegins) {
  // Compiled alike, and nothing in it is a generated kernel.
  for (const double value : {2.5, 2.75}) {
    TraceBuilder t(value == 2.5 ? a() : b());
    Tensor x = filled(t, 0.1), m = filled(t, value), r = filled(t, value * 2);
    const OpId region = t.op({.name = "inductor::graph", .inputs = {x}, .outputs = {r},
                              .kind = OpKind::compiled});
    t.op({.name = "planted::layer", .inputs = {x}, .outputs = {m}, .parent = region});
    t.op({.name = "aten::mm", .inputs = {m, x}, .outputs = {r}, .parent = region});
  }
  const DiffResult result = diff(a(), b(), {});
  ASSERT_EQ(result.frontier.size(), 1u);
  EXPECT_EQ(result.first->op, "planted::layer");
  EXPECT_TRUE(result.notes.empty());
}

TEST_F(Compiled, UnseenKernelsThatAgreeAreIdentical) {
  eager({});
  compiled({}, false);
  EXPECT_EQ(diff(a(), b(), {}).verdict, Verdict::identical);
}

}  // namespace
}  // namespace ulpscope::testing
