// What instrumentation outside the dispatcher reports.

#include "dispatch_hook/instrument.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/hook/recorded.h"

namespace ulpscope::testing {
namespace {

using instrument::Access;
using instrument::Call;
using instrument::KernelOperand;
using Names = std::vector<std::string>;

Schema kernelSchema() {
  return {.name = "inductor::cpp_fused_add_0",
          .overload = "",
          .arguments = {"in_out_ptr0", "in_ptr0", "out_ptr0", "scratch"},
          .returns = {}};
}

TEST(Calls, AreRecordedWithTheirRoles) {
  const at::Tensor both = torch::ones({4}), in = torch::ones({4});
  const at::Tensor out = torch::zeros({4}), scratch = torch::zeros({4});
  const Recorded run([&] {
    const std::array<KernelOperand, 4> operands{{{&both, Access::readWrite, false, false, 0},
                                                 {&in, Access::read, false, false, 1},
                                                 {&out, Access::write, false, false, 2},
                                                 {&scratch, Access::write, true, false, 3}}};
    const std::array<Scalar, 1> scalars{{{4, "64"}}};
    Call call(OpKind::kernel, instrument::schema(kernelSchema()), {}, operands, scalars);
    both.data_ptr<float>()[0] = 7;  // as a kernel does: behind the dispatcher's back
    out.data_ptr<float>()[0] = 8;
    call.finish();
    out.exp();
    both.sin();
  });
  const Op& kernel = run.find("inductor::cpp_fused_add_0");
  EXPECT_EQ(kernel.kind, OpKind::kernel);
  EXPECT_FALSE(kernel.raised);
  EXPECT_EQ(run.describe(kernel),
            (Names{"before0 f32[4]", "in1 f32[4]", "after0 f32[4]", "after2 f32[4]",
                   "after3 f32[4] uninitialised"}));
  EXPECT_EQ(run.operand(kernel, Role::after, 3).flags & kScratch, kScratch);
  EXPECT_EQ(run.operand(run.find("aten::exp"), Role::input, 0).closure, Closure::matched);
  EXPECT_EQ(run.operand(run.find("aten::sin"), Role::input, 0).writer, kernel.id);
}

TEST(Calls, AKernelHidesWhatItCallsAndARegionShowsIt) {
  const at::Tensor x = torch::ones({4});
  at::Tensor y;
  const Recorded run([&] {
    const std::array<KernelOperand, 1> operands{{{&x, Access::read}}};
    Call region(OpKind::compiled, instrument::schema({.name = "compiled::graph"}), {}, operands, {});
    {
      Call kernel(OpKind::kernel, instrument::schema(kernelSchema()), {}, operands, {});
      x.sin();
      kernel.finish();
    }
    y = x.exp();
    const std::array<KernelOperand, 1> results{{{&y, Access::write}}};
    region.finish(results);
  });
  EXPECT_EQ(run.names(), (Names{"compiled::graph", "inductor::cpp_fused_add_0", "aten::exp"}));
  const Op& region = run.find("compiled::graph");
  EXPECT_EQ(run.find("aten::exp").parent, region.id);
  EXPECT_EQ(run.find("inductor::cpp_fused_add_0").parent, region.id);
  EXPECT_EQ(run.describe(region), (Names{"in0 f32[4]", "out0 f32[4]"}));
}

TEST(Calls, ARegionsResultKeepsTheWriterInsideIt) {
  at::Tensor y;
  const Recorded run([&] {
    Call region(OpKind::compiled, instrument::schema({.name = "compiled::graph"}), {}, {}, {});
    y = torch::ones({4});
    const std::array<KernelOperand, 1> results{{{&y, Access::write}}};
    region.finish(results);
    y.exp();
  });
  EXPECT_EQ(run.operand(run.find("aten::exp"), Role::input, 0).writer,
            run.find("aten::ones").id);
}

TEST(Calls, WithoutFinishRaised) {
  const Recorded run([&] {
    try {
      Call call(OpKind::kernel, instrument::schema(kernelSchema()), {}, {}, {});
      throw std::runtime_error("the kernel failed");
    } catch (const std::runtime_error&) {
    }
    torch::ones({2});
  });
  EXPECT_TRUE(run.find("inductor::cpp_fused_add_0").raised);
  EXPECT_FALSE(run.find("aten::ones").parent);
}

TEST(Calls, AreHarmlessWhileNothingIsRecorded) {
  EXPECT_FALSE(instrument::schema(kernelSchema()));
  EXPECT_EQ(instrument::generation(), 0u);
  Call call(OpKind::kernel, SchemaId{1}, {}, {}, {});
  call.finish();
  instrument::pushRegion(RegionKind::module, "a", "A");
  instrument::popRegion();
  instrument::event("message", "{}");
  instrument::flush();
}

TEST(Regions, ModulesMakeOpsForward) {
  const Recorded run([] {
    instrument::pushRegion(RegionKind::module, "encoder.0", "Linear");
    torch::ones({2});
    instrument::popRegion();
    torch::zeros({2});
  });
  const Op& inside = run.find("aten::ones");
  EXPECT_EQ(inside.phase, Phase::forward);
  EXPECT_EQ(run.reader().module(inside), (std::pair<std::string, std::string>("encoder.0", "Linear")));
  EXPECT_FALSE(run.find("aten::zeros").region);
}

TEST(Regions, AnUnbalancedPopIsIgnored) {
  const Recorded run([] {
    instrument::popRegion();
    const Scope scope("outer");
    instrument::popRegion();
    torch::ones({2});
  });
  EXPECT_EQ(run.region(run.find("aten::ones")), "outer");
}

TEST(Pause, HidesOpsAndNests) {
  const Recorded run([] {
    instrument::pause();
    instrument::pause();
    torch::ones({2});
    instrument::resume();
    torch::ones({2});
    instrument::resume();
    torch::zeros({2});
  });
  EXPECT_EQ(run.names(), (Names{"aten::zeros"}));
}

StackId oneStack(bool) noexcept {
  return instrument::stack({{"model.py", 7, "forward"}});
}

TEST(Stacks, ComeFromTheProvider) {
  instrument::setStackProvider(oneStack);
  const Recorded run([] { torch::ones({2}); });
  instrument::setStackProvider(nullptr);
  EXPECT_EQ(run.reader().stack(run.find("aten::ones").stack), (Stack{{"model.py", 7, "forward"}}));
}

TEST(Facts, SaidBeforeTheFirstOpAreKept) {
  const Recorded run([] {
    instrument::environment("compile.backend", "inductor");
    instrument::meta("who", "test");
    instrument::event("graph", "{\"id\": 1}");
    torch::ones({2});
    instrument::flush();
  });
  EXPECT_EQ(run.reader().meta("who"), "test");
  ASSERT_EQ(run.reader().events().size(), 1u);
  EXPECT_EQ(run.reader().events()[0].text, "{\"id\": 1}");
}

}  // namespace
}  // namespace ulpscope::testing
