// What is recorded around ops: phases, steps, regions, threads; and that the program is not disturbed.

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <map>
#include <set>
#include <thread>

#include "tests/hook/recorded.h"

namespace ulpscope::testing {
namespace {

using Names = std::vector<std::string>;

TEST(Backward, OpsAreTiedToTheirForwardOps) {
  const Recorded run([] {
    const at::Tensor w = torch::ones({3}, torch::requires_grad());
    (w * 3).exp().sum().backward();
  });
  const Op& exp = run.find("aten::exp");
  const Op& backward = run.find("aten::mul.Tensor");  // of ExpBackward0: grad * result
  EXPECT_EQ(exp.phase, Phase::forward);
  EXPECT_GE(exp.sequence, 0);
  EXPECT_EQ(backward.phase, Phase::backward);
  EXPECT_EQ(backward.sequence, exp.sequence);
  EXPECT_EQ(backward.forwardThread, exp.thread);
  EXPECT_EQ(run.region(backward), "ExpBackward0");
  EXPECT_EQ(run.reader().region(backward.region).kind, RegionKind::autograd);
  EXPECT_EQ(run.reader().region(backward.region).sequence, exp.sequence);
}

TEST(Backward, SumsThatTheEngineTakesBelongToTheNodeBefore) {
  const Recorded run([] {
    const at::Tensor bias = torch::ones({3}, torch::requires_grad());
    (torch::ones({2, 3}) + bias).exp().sum().backward();
  });
  // The gradient of the broadcast bias is reduced by the engine, after AddBackward0 has returned.
  const Op& reduction = run.find("aten::sum.dim_IntList");
  EXPECT_EQ(reduction.phase, Phase::backward);
  EXPECT_EQ(run.region(reduction), "AddBackward0");
  EXPECT_EQ(reduction.sequence, run.find("aten::add.Tensor").sequence);
}

TEST(Phases, WithoutGradientsAnOpIsOther) {
  const Recorded run([] { torch::ones({2}).exp(); });
  EXPECT_EQ(run.find("aten::exp").phase, Phase::other);
}

TEST(Phases, AnOptimizerScopeIsTheOptimizer) {
  const at::Tensor w = torch::ones({3});
  const Recorded run([&] {
    for (int i = 0; i < 3; ++i) {
      w.exp();
      RECORD_USER_SCOPE("Optimizer.step#AdamW.step");
      w.add(1);
    }
    w.exp();
  });
  const Op& update = run.find("aten::add.Scalar", 1);
  EXPECT_EQ(update.phase, Phase::optimizer);
  EXPECT_EQ(run.region(update), "AdamW");
  EXPECT_EQ(run.reader().region(update.region).kind, RegionKind::optimizer);
  EXPECT_EQ(update.step, 1);
  EXPECT_EQ(run.find("aten::exp", 3).step, 3);
  EXPECT_EQ(run.reader().steps(), (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(Phases, ALookAtAValueBeginsNoStep) {
  const at::Tensor w = torch::ones({});
  const Recorded run([&] {
    {
      RECORD_USER_SCOPE("Optimizer.step#SGD.step");
      w.add(1);
    }
    w.item();
  });
  EXPECT_EQ(run.find("aten::_local_scalar_dense").step, 0);
  EXPECT_EQ(run.reader().steps(), (std::vector<int32_t>{0}));
}

TEST(Phases, AnOptimizerWithoutAScopeIsKnownByWhatItWrites) {
  const Recorded run([] {
    const at::Tensor w = torch::ones({3}, torch::requires_grad());
    {
      torch::NoGradGuard none;
      w.mul_(2);  // initialisation, no update
    }
    torch::optim::SGD sgd({w}, torch::optim::SGDOptions(0.1));
    for (int i = 0; i < 2; ++i) {
      sgd.zero_grad();
      (w * 3).sum().backward();
      sgd.step();
    }
  });
  EXPECT_EQ(run.find("aten::mul_.Scalar").phase, Phase::other);
  const Op& update = run.find("aten::add_.Tensor", 0);
  EXPECT_EQ(update.phase, Phase::optimizer);
  EXPECT_EQ(update.step, 0);
  EXPECT_EQ(run.find("aten::add_.Tensor", 1).step, 1);
}

TEST(Steps, ExplicitStepsReplaceTheCount) {
  const at::Tensor w = torch::ones({3});
  const Recorded run([&] {
    w.exp();
    nextStep();
    {
      RECORD_USER_SCOPE("Optimizer.step#SGD.step");
      w.add(1);
    }
    w.sin();
    nextStep();
    w.cos();
  });
  EXPECT_EQ(run.find("aten::exp").step, 0);
  EXPECT_EQ(run.find("aten::add.Scalar").step, 1);
  EXPECT_EQ(run.find("aten::sin").step, 1);
  EXPECT_EQ(run.find("aten::cos").step, 2);
}

TEST(Regions, NestAndAreWrittenOnlyAroundOps) {
  const at::Tensor w = torch::ones({3});
  const Recorded run([&] {
    const Scope outer("outer");
    { const Scope empty("empty"); }
    {
      const Scope inner("inner");
      w.exp();
    }
    w.sin();
  });
  const Reader& reader = run.reader();
  ASSERT_EQ(reader.regions().size(), 2u);
  const Op& exp = run.find("aten::exp");
  EXPECT_EQ(run.region(exp), "inner");
  EXPECT_EQ(reader.region(reader.region(exp.region).parent).name, "outer");
  EXPECT_EQ(reader.region(exp.region).begin, exp.id);
  EXPECT_EQ(run.region(run.find("aten::sin")), "outer");
}

TEST(Threads, EachHasItsNumberAndNoOpIsLost) {
  constexpr int kThreads = 8, kOps = 500;
  const Recorded run([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        at::Tensor x = torch::full({4}, t);
        for (int i = 0; i < kOps; ++i) x.add_(1);
        EXPECT_EQ(x[0].item<int64_t>(), t + kOps);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::set<int64_t> ids;
  std::map<uint32_t, int> added;
  for (const Op& op : run.ops()) {
    ids.insert(op.id.value);
    if (run.name(op) == "aten::add_.Scalar") ++added[op.thread];
  }
  EXPECT_EQ(ids.size(), run.ops().size());
  EXPECT_EQ(*ids.rbegin(), int64_t(run.ops().size()));
  ASSERT_EQ(added.size(), size_t(kThreads));
  for (const auto& [thread, count] : added) EXPECT_EQ(count, kOps);
  EXPECT_EQ(run.reader().coverage().closureBroken, 0u);
}

TEST(Failures, AnOpThatThrowsIsMarkedAndTheProgramGetsItsException) {
  const Recorded run([] {
    EXPECT_THROW(at::mm(torch::ones({2, 3}), torch::ones({2, 3})), c10::Error);
    EXPECT_THROW(torch::linear(torch::ones({2, 3}), torch::ones({2, 4})), c10::Error);
    torch::ones({2}).exp();
  });
  const Op& mm = run.find("aten::mm");
  EXPECT_TRUE(mm.raised);
  EXPECT_EQ(run.operands(mm).size(), 2u);
  EXPECT_FALSE(run.find("aten::exp").raised);
  EXPECT_FALSE(run.find("aten::exp").parent);
}

TEST(Undisturbed, NoReferenceOutlivesTheOp) {
  const Recorded run([] {
    const at::Tensor a = torch::ones({4});
    const at::Tensor b = a + 1;
    EXPECT_EQ(a.use_count(), 1u);
    EXPECT_EQ(b.use_count(), 1u);
    EXPECT_EQ(b.storage().use_count(), 1u);
    b.add_(1);
    EXPECT_EQ(b.use_count(), 1u);
    EXPECT_EQ(b.weak_use_count(), 1u);
  });
  EXPECT_EQ(run.ops().size(), 3u);
}

TEST(Undisturbed, MemoryIsFreedWhenTheProgramFreesIt) {
  static int freed;
  freed = 0;
  const Recorded run([] {
    static float data[4] = {1, 2, 3, 4};
    at::Tensor x = torch::from_blob(data, {4}, [](void*) { ++freed; });
    x.add_(1);
    EXPECT_EQ(freed, 0);
    x.reset();
    EXPECT_EQ(freed, 1);
  });
}

TEST(Undisturbed, TrainingEndsWithTheSameBits) {
  auto train = [] {
    torch::manual_seed(3);
    torch::nn::Sequential net(torch::nn::Linear(8, 16), torch::nn::ReLU(), torch::nn::Dropout(0.3),
                              torch::nn::Linear(16, 4));
    torch::optim::AdamW adamw(net->parameters(), torch::optim::AdamWOptions(0.01));
    for (int i = 0; i < 4; ++i) {
      adamw.zero_grad();
      torch::mse_loss(net->forward(torch::randn({6, 8})), torch::randn({6, 4})).backward();
      adamw.step();
    }
    std::vector<at::Tensor> parameters;
    for (const at::Tensor& p : net->parameters()) parameters.push_back(p.detach().clone());
    return parameters;
  };
  const std::vector<at::Tensor> plain = train();
  std::vector<at::Tensor> watched;
  const Recorded run([&] { watched = train(); });
  ASSERT_EQ(plain.size(), watched.size());
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(at::equal(plain[i], watched[i]));
  EXPECT_EQ(run.reader().coverage().closureBroken, 0u);
}

TEST(Fork, TheChildIsSilentAndTheParentGoesOn) {
  const Recorded run([] {
    const at::Tensor x = torch::ones({4});
    x.exp();
    const pid_t child = fork();
    if (child == 0) {
      const bool right = x.add(1)[0].item<float>() == 2 && !recording();
      _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    x.sin();
  });
  EXPECT_EQ(run.names(), (Names{"aten::ones", "aten::exp", "aten::sin"}));
}

TEST(Fork, AChildMayRecordItself) {
  const TempFolder folder;
  const Recorded run([&] {
    const at::Tensor x = torch::ones({4});
    const pid_t child = fork();
    if (child == 0) {
      RecorderOptions options;
      options.path = folder.file("child.ulps");
      const bool started = startRecording(options).empty();
      x.exp();
      _exit(started && stopRecording() == options.path ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  });
  EXPECT_EQ(run.names(), (Names{"aten::ones"}));
  EXPECT_EQ(Reader(folder.file("child.ulps")).readAll().ops.size(), 1u);
}

TEST(Recording, OnlyOneAtATime) {
  const TempFolder folder;
  RecorderOptions other;
  other.path = folder.file("other.ulps");
  const Recorded run([&] {
    EXPECT_NE(startRecording(other).find("already"), std::string::npos);
    torch::ones({2});
  });
  EXPECT_EQ(run.ops().size(), 1u);
  EXPECT_NE(access(other.path.c_str(), F_OK), 0);
}

TEST(Recording, CanBeRepeatedOnOneThread) {
  for (int i = 0; i < 3; ++i) {
    const Recorded run([&] {
      const Scope scope("again");
      torch::full({2}, i).exp();
    });
    EXPECT_EQ(run.names(), (Names{"aten::full", "aten::exp"}));
    EXPECT_EQ(run.ops().front().id, OpId{1});
    EXPECT_EQ(run.region(run.find("aten::exp")), "again");
  }
}

TEST(Recording, WithoutOpsLeavesAFileToWhoAskedForIt) {
  const TempFolder folder;
  RecorderOptions options;
  options.path = folder.file("asked.ulps");
  { const Recorder recorder(options); }
  EXPECT_TRUE(Reader(options.path).complete());
  options.path = folder.file("command.ulps");
  options.replace = false;  // as `ulpscope record` asks of each process of a command
  { const Recorder recorder(options); }
  EXPECT_NE(access(options.path.c_str(), F_OK), 0);
}

TEST(Recording, AFolderThatIsNotThereLeavesTheProgramAlone) {
  ::testing::internal::CaptureStderr();
  {
    RecorderOptions options;
    options.path = "/nonexistent/folder/run.ulps";
    options.replace = false;  // as `ulpscope record` asks: the program did not
    const Recorder recorder(options);
    EXPECT_EQ(torch::ones({2}).sum().item<float>(), 2);
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("nothing is recorded"),
            std::string::npos);
}

TEST(Recording, AFolderThatIsNotThereIsSaidToWhoAsked) {
  EXPECT_THROW(Recorder("/nonexistent/folder/run.ulps"), std::runtime_error);
  EXPECT_FALSE(recording());
}

TEST(Recording, AProcessBesideAnotherTakesItsOwnName) {
  const TempFolder folder;
  RecorderOptions options;
  options.path = folder.file("run.ulps");
  { const Recorder first(options); torch::ones({2}); }
  options.replace = false;
  std::string second;
  EXPECT_EQ(startRecording(options), "");
  torch::ones({2});
  second = stopRecording();
  EXPECT_EQ(second, folder.file("run." + std::to_string(getpid()) + ".ulps"));
}

TEST(Recording, ARankIsInTheName) {
  const TempFolder folder;
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "4", 1);
  RecorderOptions options;
  options.path = folder.file("run.ulps");
  EXPECT_EQ(startRecording(options), "");
  torch::ones({2});
  const std::string path = stopRecording();
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  EXPECT_EQ(path, folder.file("run.rank3.ulps"));
  EXPECT_EQ(Reader(path).meta("rank"), "3");
}

TEST(Options, TrackedTrustsWhatItSawWritten) {
  RecorderOptions options;
  options.inputs = InputMode::tracked;
  const Recorded run([] { torch::ones({4}).exp().sin(); }, options);
  const Op& exp = run.find("aten::exp");
  const Operand trusted = run.operand(run.find("aten::sin"), Role::input, 0);
  EXPECT_EQ(trusted.skip, SkipReason::trusted);
  EXPECT_EQ(trusted.fingerprint, run.operand(exp, Role::output, 0).fingerprint);
}

TEST(Options, InputsOffStillRecordsOutputs) {
  RecorderOptions options;
  options.inputs = InputMode::off;
  const Recorded run([] { torch::ones({4}).exp(); }, options);
  const Op& exp = run.find("aten::exp");
  EXPECT_EQ(run.describe(exp), (Names{"in0 f32[4] option", "out0 f32[4]"}));
}

TEST(Options, GlobsAndStepsLimitWhatIsHashed) {
  RecorderOptions options;
  options.include = {"aten::e*", "aten::s?n"};
  options.exclude = {"aten::exp"};
  options.firstStep = 1;
  options.lastStep = 2;
  const Recorded run(
      [] {
        const at::Tensor x = torch::ones({4});
        for (int i = 0; i < 3; ++i) {
          x.exp();
          x.sin();
          x.erf();
          nextStep();
        }
      },
      options);
  EXPECT_EQ(run.ops().size(), 10u);  // all are there
  std::vector<std::string> hashed;
  for (const Op& op : run.ops()) {
    if (run.operands(op).back().fingerprint) {
      hashed.push_back(run.name(op) + std::to_string(op.step));
    }
  }
  EXPECT_EQ(hashed, (Names{"aten::sin1", "aten::erf1"}));
}

TEST(Options, ComeFromTheEnvironment) {
  setenv("ULPSCOPE_OUTPUT", "x.ulps", 1);
  setenv("ULPSCOPE_INPUTS", "tracked", 1);
  setenv("ULPSCOPE_LEVEL", "digest", 1);
  setenv("ULPSCOPE_STACKS", "1", 1);
  setenv("ULPSCOPE_INCLUDE", "aten::add*:mylib::*", 1);
  setenv("ULPSCOPE_STEPS", "2:5", 1);
  const RecorderOptions options = optionsFromEnvironment();
  for (const char* name : {"OUTPUT", "INPUTS", "LEVEL", "STACKS", "INCLUDE", "STEPS"}) {
    unsetenv((std::string("ULPSCOPE_") + name).c_str());
  }
  EXPECT_EQ(options.path, "x.ulps");
  EXPECT_EQ(options.inputs, InputMode::tracked);
  EXPECT_EQ(options.level, 0);
  EXPECT_TRUE(options.stacks);
  EXPECT_EQ(options.include, (Names{"aten::add*", "mylib::*"}));
  EXPECT_EQ(options.firstStep, 2);
  EXPECT_EQ(options.lastStep, 5);
  EXPECT_FALSE(options.replace);
}

TEST(Environment, TellsWhatChangesNumbers) {
  setenv("OMP_ULPSCOPE_TEST", "listed", 1);
  setenv("SECRET_TOKEN", "private", 1);
  const Recorded run([] { torch::ones({2}); });
  std::map<std::string, std::string> seen;
  for (const KeyValue& each : run.reader().environment()) seen[each.key] = each.value;
  EXPECT_EQ(seen["torch.version"], "2.13.0");
  EXPECT_EQ(seen["threads.intra_op"], std::to_string(at::get_num_threads()));
  EXPECT_EQ(seen["default_dtype"], "float32");
  EXPECT_EQ(seen["env.OMP_ULPSCOPE_TEST"], "listed");
  EXPECT_EQ(seen.count("env.SECRET_TOKEN"), 0u);
  unsetenv("OMP_ULPSCOPE_TEST");
  unsetenv("SECRET_TOKEN");
}

TEST(Environment, AChangedSettingIsAnEvent) {
  const bool before = at::globalContext().deterministicAlgorithms();
  const Recorded run([&] {
    torch::ones({2});
    nextStep();
    at::globalContext().setDeterministicAlgorithms(!before, false);
    torch::ones({2});
  });
  at::globalContext().setDeterministicAlgorithms(before, false);
  ASSERT_EQ(run.reader().events().size(), 1u);
  EXPECT_EQ(run.reader().events()[0].kind, "setting");
  EXPECT_NE(run.reader().events()[0].text.find("deterministic_algorithms"), std::string::npos);
  EXPECT_EQ(run.reader().events()[0].at, OpId{1});
}

}  // namespace
}  // namespace ulpscope::testing
