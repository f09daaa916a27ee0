// Faults of known kind and place, planted in a training program: the engine has to name them.
#include <gtest/gtest.h>

#include <fstream>

#include "diff/context.h"
#include "diff/diff.h"
#include "tests/diff/toy_program.h"
#include "tests/support/temp_folder.h"

namespace ulpscope::testing {
namespace {

class Faults : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::string a() const { return folder_.file("a.ulps"); }
  std::string b() const { return folder_.file("b.ulps"); }

  DiffResult diffOf(const ToyOptions& optionsA, const ToyOptions& optionsB,
                    const DiffOptions& options = {}) {
    programA_ = std::make_unique<ToyProgram>(a(), optionsA);
    programB_ = std::make_unique<ToyProgram>(b(), optionsB);
    return diff(a(), b(), options);
  }
  DiffResult diffWith(Fault fault, int at) {
    ToyOptions faulty;
    faulty.faults = {{fault, at}};
    return diffOf({}, faulty);
  }
  std::unique_ptr<ToyProgram> programA_, programB_;
};

std::string show(const DiffResult& r) {
  std::string text = std::string(name(r.verdict)) + " " + r.notComparableReason + "\n";
  for (const Origin& o : r.frontier) {
    text += "  " + std::string(name(o.label)) + " " + std::string(name(o.difference)) + " " + o.op +
            " a#" + std::to_string(o.a ? o.a->id.value : 0) + " b#" +
            std::to_string(o.b ? o.b->id.value : 0) + " step " + std::to_string(o.step) + " " +
            o.module + ": " + o.explanation + "\n";
  }
  return text;
}

TEST_F(Faults, EqualRunsAreIdentical) {
  const DiffResult result = diffOf({}, {});
  EXPECT_EQ(result.verdict, Verdict::identical) << show(result);
  EXPECT_FALSE(result.first);
  EXPECT_EQ(result.counts.identical, int64_t(result.pairs.size()));
  EXPECT_EQ(exitStatus(result.verdict), 0);
}

struct Kind {
  Fault fault;
  const char* name;
  bool structural;
};
const Kind kKinds[] = {
    {Fault::oneUlp, "one ulp", false},      {Fault::scaled, "scaled", false},
    {Fault::nan, "nan", false},             {Fault::permuted, "permuted", false},
    {Fault::missing, "missing", true},      {Fault::extra, "extra", true},
    {Fault::twice, "twice", true},          {Fault::scalar, "scalar", true},
    {Fault::dtypeDropped, "dtype", true},   {Fault::wrongTensor, "wrong tensor", true},
};

/// Is the fault's place named, as the right kind of thing?
::testing::AssertionResult isNamed(const DiffResult& result, const Origin& origin, const Kind& kind,
                                 OpId idA, OpId idB) {
  const Pair& pair = result.pairs[size_t(origin.pair)];
  bool named = false;
  for (const uint32_t op : result.opsA(pair)) named |= idA && result.a.ops.ops[op].id == idA;
  for (const uint32_t op : result.opsB(pair)) named |= idB && result.b.ops.ops[op].id == idB;
  if (!named) return ::testing::AssertionFailure() << "another op is named\n" << show(result);
  if ((origin.label == Label::structural) != kind.structural) {
    return ::testing::AssertionFailure() << "as another kind\n" << show(result);
  }
  return ::testing::AssertionSuccess();
}

/// Plants each kind at each place; all that change anything must be named first.
class EveryPlace : public Faults, public ::testing::WithParamInterface<ToyOptions> {};

TEST_P(EveryPlace, IsNamedFirst) {
  const ToyProgram clean(a(), GetParam());
  const std::vector<ToyProgram::Call> calls = clean.calls();
  int offset = 0;
  for (const Kind& kind : kKinds) {
    int tried = 0;
    // Every third place, another third for each kind: all places, and a test of seconds.
    for (int at = offset++ % 3; at < int(calls.size()); at += 3) {
      ToyOptions faulty = GetParam();
      faulty.faults = {{kind.fault, at}};
      const ToyProgram other(b(), faulty);
      const DiffResult result = diff(a(), b(), {});
      const bool removed = kind.fault == Fault::missing && !other.calls()[size_t(at)].id;
      if (result.verdict == Verdict::identical) {
        // Nothing was changed: the op takes no scalar, swapping equal values, ...
        EXPECT_TRUE(kind.fault != Fault::oneUlp && kind.fault != Fault::nan &&
                    kind.fault != Fault::scaled && !removed)
            << kind.name << " at " << at;
        continue;
      }
      ++tried;
      ASSERT_TRUE(result.first) << show(result);
      // The place in A where the fault put something new has a healthy op.
      const bool added = kind.fault == Fault::extra || kind.fault == Fault::twice;
      EXPECT_TRUE(isNamed(result, *result.first, kind, added ? OpId{} : calls[size_t(at)].id,
                          other.culprits()[0]))
          << kind.name << " at " << at << ": " << calls[size_t(at)].name << " a#"
          << calls[size_t(at)].id.value << " b#" << other.culprits()[0].value;
    }
    EXPECT_GT(tried, 3) << kind.name;
  }
}
INSTANTIATE_TEST_SUITE_P(Program, EveryPlace,
                         ::testing::Values(ToyOptions{.layers = 3, .steps = 2},
                                           ToyOptions{.layers = 3, .steps = 2, .modules = false},
                                           ToyOptions{.layers = 3, .steps = 2, .modules = false,
                                                      .lines = false}));

TEST_F(Faults, TwoIndependentFaultsAreBothOnTheFrontier) {
  const ToyProgram clean(a(), {});
  const int count = int(clean.calls().size());
  int both = 0, tried = 0;
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const Kind& first = kKinds[random() % std::size(kKinds)];
    const Kind& second = kKinds[random() % std::size(kKinds)];
    const int x = int(random() % unsigned(count)), y = int(random() % unsigned(count));
    if (x == y) continue;
    const auto alone = [&](const Kind& kind, int at) {
      ToyOptions faulty;
      faulty.faults = {{kind.fault, at}};
      const ToyProgram other(b(), faulty);
      return diff(a(), b(), {}).verdict != Verdict::identical;
    };
    if (!alone(first, x) || !alone(second, y)) continue;
    ToyOptions faulty;
    faulty.faults = {{first.fault, x}, {second.fault, y}};
    const ToyProgram other(b(), faulty);
    const DiffResult result = diff(a(), b(), {});
    ++tried;
    int found = 0;
    for (const auto& [kind, at, f] : {std::tuple(&first, x, 0), std::tuple(&second, y, 1)}) {
      const bool added = kind->fault == Fault::extra || kind->fault == Fault::twice;
      found += std::any_of(result.frontier.begin(), result.frontier.end(), [&](const Origin& o) {
        return bool(isNamed(result, o, *kind, added ? OpId{} : clean.calls()[size_t(at)].id,
                            other.culprits()[size_t(f)]));
      });
    }
    // A fault downstream of another changes what differs already, and may not show by itself.
    EXPECT_GE(found, 1) << first.name << " at " << x << ", " << second.name << " at " << y << "\n"
                        << show(result);
    both += found == 2;
  }
  EXPECT_GT(tried, 20);
  EXPECT_GE(both * 4, tried * 3) << both << " of " << tried;
}

TEST_F(Faults, ParameterAndDataAreSources) {
  ToyOptions faulty;
  faulty.faults = {{Fault::parameter, -1}};
  DiffResult result = diffOf({}, faulty);
  ASSERT_TRUE(result.first) << show(result);
  EXPECT_EQ(result.verdict, Verdict::numeric);
  EXPECT_EQ(result.first->label, Label::source);
  EXPECT_EQ(result.first->op, "aten::mm");
  EXPECT_EQ(result.first->module, "layers.1.linear");
  EXPECT_EQ(result.first->step, 0);
  EXPECT_EQ(result.first->operandRole, Role::input);
  EXPECT_EQ(result.first->operandIndex, 1);
  EXPECT_EQ(result.frontier.size(), 1u) << show(result);

  faulty.faults = {{Fault::data, -1}};
  result = diffOf({}, faulty);
  ASSERT_TRUE(result.first) << show(result);
  EXPECT_EQ(result.first->label, Label::source);
  EXPECT_EQ(result.first->op, "aten::mm");
  EXPECT_EQ(result.first->module, "layers.0.linear");
  EXPECT_EQ(result.first->step, 1);
  EXPECT_EQ(result.first->operandIndex, 0);
}

TEST_F(Faults, RenamedModulesAndReorderedOpsAlign) {
  for (const ToyOptions& other :
       {ToyOptions{.prefix = "model."}, ToyOptions{.prefix = "_orig_mod."},
        ToyOptions{.modules = false}, ToyOptions{.lines = false}, ToyOptions{.reorder = true}}) {
    const DiffResult result = diffOf({}, other);
    EXPECT_EQ(result.verdict, Verdict::identical) << show(result);
    EXPECT_EQ(result.counts.structural, 0);
  }
}

TEST_F(Faults, FaultBehindRenamedModules) {
  ToyOptions faulty{.prefix = "wrapped.model."};
  faulty.faults = {{Fault::missing, 12}};
  const DiffResult result = diffOf({}, faulty);
  ASSERT_TRUE(result.first) << show(result);
  EXPECT_EQ(result.first->difference, Difference::missing);
  ASSERT_TRUE(result.first->a);
  EXPECT_EQ(result.first->a->id.value, 13) << show(result);
}

TEST_F(Faults, MoreStepsAreExtra) {
  const DiffResult result = diffOf({.steps = 3}, {.steps = 5});
  EXPECT_EQ(result.verdict, Verdict::structural) << show(result);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->difference, Difference::extra);
  EXPECT_EQ(result.first->step, 3);
  EXPECT_EQ(result.counts.identical, 123);
}

TEST_F(Faults, CutShortBeforeAnyDifferenceIsNotComparable) {
  const DiffResult result = diffOf({.steps = 3}, {.steps = 3, .cut = true, .cutAfterStep = 1});
  EXPECT_EQ(result.verdict, Verdict::notComparable) << show(result);
  EXPECT_FALSE(result.notComparableReason.empty());
  EXPECT_EQ(exitStatus(result.verdict), 4);
}

TEST_F(Faults, CutShortAfterADifferenceNamesIt) {
  ToyOptions faulty{.steps = 3, .cut = true, .cutAfterStep = 1};
  faulty.faults = {{Fault::oneUlp, 5}};
  const DiffResult result = diffOf({.steps = 3}, faulty);
  EXPECT_EQ(result.verdict, Verdict::numeric) << show(result);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->a->id.value, 6);
  EXPECT_EQ(result.frontier.size(), 1u) << show(result);
}

TEST_F(Faults, ProgramsWithNothingInCommon) {
  const ToyProgram program(a(), {});
  {
    TraceBuilder other(b());
    Tensor x = other.tensor({3}, {1, 2, 3});
    for (int i = 0; i < 5; ++i) {
      Tensor y = other.tensor({3}, {1, 2, double(i)});
      other.op("other::thing", {x}, {y});
      x = y;
    }
  }
  const DiffResult result = diff(a(), b(), {});
  EXPECT_EQ(result.verdict, Verdict::notComparable) << show(result);
  EXPECT_EQ(exitStatus(result.verdict), 4);
}

TEST_F(Faults, MappingFileSettlesPairs) {
  // Two ops of other names in the same place: structural, unless the user says that they are one.
  const auto write = [](const std::string& path, const std::string& name) {
    TraceBuilder t(path);
    Tensor x = t.tensor({2}, {1, 2});
    Tensor y = t.tensor({2}, {0.5, 1});
    Tensor z = t.tensor({2}, {1.5, 2});
    t.op("aten::neg", {x}, {x = t.tensor({2}, {-1, -2})});
    t.op(name, {x}, {y});
    t.op("aten::add.Tensor", {y, y}, {z});
  };
  write(a(), "mine::act");
  write(b(), "yours::act");
  EXPECT_EQ(diff(a(), b(), {}).verdict, Verdict::identical);  // a group: equal values, same consumer

  const std::string map = folder_.file("map.toml");
  const auto mapped = [&](const std::string& text) {
    std::ofstream(map) << text;
    DiffOptions options;
    options.mapFile = map;
    return diff(a(), b(), options);
  };
  DiffResult result = mapped("[[op]]\na = 2\nb = [2]\n");
  EXPECT_EQ(result.pairs[size_t(result.context->pairing.pairOfA[1])].method, Method::mapping);
  result = mapped("[[name]]\na = \"mine::act\"\nb = \"yours::act\"\n");
  EXPECT_EQ(result.verdict, Verdict::identical);
  EXPECT_EQ(result.counts.pairs, 3);
  for (const char* wrong : {"[[op]]\na = \"x\"\n", "nonsense = 1\n", "[[module]]\na = \"x\"\n", "[["}) {
    EXPECT_THROW(mapped(wrong), TraceError) << wrong;
  }
  DiffOptions missing;
  missing.mapFile = folder_.file("no.toml");
  EXPECT_THROW(diff(a(), b(), missing), TraceError);
}

TEST_F(Faults, ToleranceAndNoise) {
  ToyOptions faulty;
  faulty.faults = {{Fault::oneUlp, 30}};
  DiffOptions loose;
  loose.tolerance.rtol = 1e-3;
  DiffResult result = diffOf({}, faulty, loose);
  EXPECT_EQ(result.verdict, Verdict::withinTolerance) << show(result);
  EXPECT_EQ(exitStatus(result.verdict), 0);
  EXPECT_GT(result.counts.within, 0);

  // The same fault in a second run of A is the noise floor.
  const ToyProgram again(folder_.file("a2.ulps"), faulty);
  DiffOptions noise;
  noise.noiseFile = folder_.file("a2.ulps");
  result = diffOf({}, faulty, noise);
  EXPECT_EQ(result.verdict, Verdict::withinTolerance) << show(result);
}

}  // namespace
}  // namespace ulpscope::testing
