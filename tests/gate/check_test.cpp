#include "gate/check.h"

#include <gtest/gtest.h>

#include <sstream>

#include "gate/encode.h"
#include "gate/replay.h"
#include "gate/summary.h"
#include "store/error.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_builder.h"

namespace ulpscope::gate {
namespace {

using testing::Tensor;
using testing::TraceBuilder;

struct Fault {
  double scale = 1;       ///< of what gelu of step 1 gives
  bool extra = false;     ///< one more relu in step 1
  int threads = 1;
};

/// Three steps of a small network with parameters that live on, views, and an optimizer that writes.
void writeRun(const std::string& path, const Fault& fault = {}) {
  TraceBuilder t(path);
  t.writer().environment("torch.version", "2.13.0");
  t.writer().environment("threads.intra_op", std::to_string(fault.threads));
  Tensor weight = t.parameter({4, 4});
  const Tensor data = t.random({3, 4});
  for (int step = 0; step < 3; ++step) {
    t.step(step);
    const double scale = step >= 1 ? fault.scale : 1;
    const auto times = [&](std::vector<double> values) {
      for (double& value : values) value *= scale;
      return values;
    };
    Tensor hidden = t.tensor({3, 4}, std::vector<double>(12, 0.5 + step));
    const std::vector<double> ramp = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    Tensor active = t.tensor({3, 4}, times(ramp));
    Tensor seen = t.view(active, {12}, {1}, times(ramp));
    Tensor loss = t.tensor({}, times({78}));
    {
      auto root = t.module("", "Net");
      {
        auto scope = t.module("first", "Linear");
        t.op("aten::mm", {data, weight}, {hidden});
      }
      t.op("aten::gelu", {hidden}, {active});
      if (fault.extra && step == 1) t.op("aten::relu", {active}, {t.tensor({3, 4}, ramp)});
      t.op("aten::view", {active}, {seen});
      t.op({.name = "aten::sum", .inputs = {seen}, .outputs = {loss},
            .scalars = [&](ScalarPacker& s) { s.floating(1, 0.1 * step); }});
    }
    t.phase(Phase::optimizer);
    std::vector<double> moved(16);
    for (size_t i = 0; i < 16; ++i) moved[i] = scale * double(i + 1) / (step + 1);
    t.op({.name = "aten::add_.Tensor", .inputs = {loss}, .mutated = {{weight, moved}}});
    t.phase(Phase::forward);
  }
  t.finish();
}

class Check : public ::testing::Test {
 protected:
  std::string run(const Fault& fault = {}) {
    const std::string path = folder_.file("run" + std::to_string(++count_) + ".ulps");
    writeRun(path, fault);
    return path;
  }
  Folder::Entry baseline(const std::string& trace) {
    const Reader reader(trace);
    const Baseline baseline = encode(reader, reader.readAll());
    std::ostringstream text;
    write(baseline, text);
    const Folder::Entry entry{environmentKey(baseline.environment), folder_.file("x.baseline"), baseline.environment};
    Folder::writeFile(entry.file, text.str());
    return entry;
  }
  const testing::TempFolder folder_;
  int count_ = 0;
};

TEST_F(Check, TheSameRunIsIdentical) {
  const Checked checked = check(baseline(run()), run(), {});
  EXPECT_TRUE(checked.exact);
  EXPECT_EQ(checked.result.verdict, Verdict::identical);
  EXPECT_EQ(checked.result.counts.identical, 15);
}

TEST_F(Check, TheSecondStepIsWrittenAsWhatChanged) {
  const Folder::Entry entry = baseline(run());
  std::ostringstream text;
  write(readBaseline(entry.file.string()), text);
  EXPECT_NE(text.str().find("step 1 like 1\n"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("\nview =\n"), std::string::npos) << text.str();
}

TEST_F(Check, ReplayingABaselineLosesNothingOfIt) {
  const std::string trace = run();
  const Reader reader(trace);
  const Baseline before = encode(reader, reader.readAll());
  const std::string again = folder_.file("again.ulps");
  replay(before, "x", again, {});
  const Reader replayed(again);
  EXPECT_TRUE(replayed.complete());
  const Baseline after = encode(replayed, replayed.readAll());
  ASSERT_EQ(after.sections.size(), before.sections.size());
  for (size_t i = 0; i < before.sections.size(); ++i) {
    EXPECT_EQ(after.sections[i].structure, before.sections[i].structure) << i;
  }
}

TEST_F(Check, ANumericChangeIsNamed) {
  const Checked checked = check(baseline(run()), run({.scale = 1.5}), {});
  EXPECT_EQ(checked.result.verdict, Verdict::numeric);
  ASSERT_TRUE(checked.result.first);
  EXPECT_EQ(checked.result.first->op, "aten::gelu");
  EXPECT_EQ(checked.result.first->step, 1);
  EXPECT_GT(checked.result.first->relativeError, 0.05);
  const std::vector<OpSummary> kinds = summarise(checked.result);
  ASSERT_FALSE(kinds.empty());
  EXPECT_EQ(kinds[0].op, "aten::gelu");
  EXPECT_EQ(kinds[0].pairs, 3);
  EXPECT_EQ(kinds[0].starts, 2);  // its inputs agree in both later steps but for the weight's change
}

TEST_F(Check, AStructuralChangeIsNamed) {
  const Checked checked = check(baseline(run()), run({.extra = true}), {});
  EXPECT_EQ(checked.result.counts.structural, 1);
  EXPECT_EQ(checked.result.b.ops.ops.size(), 16u);
}

TEST_F(Check, AToleranceAcceptsASmallChange) {
  CheckOptions options;
  options.tolerance.rtol = 1e-2;
  EXPECT_EQ(check(baseline(run()), run({.scale = 1 + 1e-4}), options).result.verdict, Verdict::withinTolerance);
  EXPECT_EQ(check(baseline(run()), run({.scale = 1 + 1e-4}), {}).result.verdict, Verdict::numeric);
}

TEST_F(Check, AnotherEnvironmentComparesWithinTheFallback) {
  const Folder::Entry entry = baseline(run());
  const Checked small = check(entry, run({.scale = 1 + 1e-5, .threads = 2}), {});
  EXPECT_FALSE(small.exact);
  ASSERT_EQ(small.facts.size(), 1u);
  EXPECT_EQ(small.facts[0].key, "threads.intra_op");
  EXPECT_EQ(small.result.verdict, Verdict::withinTolerance);
  EXPECT_EQ(check(entry, run({.scale = 1.5, .threads = 2}), {}).result.verdict, Verdict::numeric);
  EXPECT_EQ(check(entry, run({.threads = 2}), {}).result.verdict, Verdict::identical);
}

TEST_F(Check, ADamagedLineIsAnErrorNotACrash) {
  const Folder::Entry entry = baseline(run());
  std::ostringstream out;
  write(readBaseline(entry.file.string()), out);
  const std::string good = out.str();
  const std::pair<std::string, std::string> cases[] = {
      {"o0:+:f32[3,4]", "o0:+:f32[3,4"},   {"o0:+:f32[3,4]", "q0:+:f32[3,4]"},
      {"o0:+:f32[3,4]", "o0:x:f32[3,4]"},  {"o0:+:f32[3,4]", "o0:n9:f32[3,4]"},
      {"o0:+:f32[3,4]", "o0:+:f32[3,4]&"}, {"aten::gelu i0", "aten::gone i0"},
      {"gelu ", "gelu !"},                 {"view =", "view = ="},
  };
  for (const auto& [from, to] : cases) {
    std::string bad = good;
    ASSERT_NE(bad.rfind(from), std::string::npos) << from;
    bad.replace(bad.rfind(from), from.size(), to);
    Folder::writeFile(entry.file, bad);
    EXPECT_THROW(check(entry, run(), {}), TraceError) << from << " -> " << to;
  }
}

}  // namespace
}  // namespace ulpscope::gate
