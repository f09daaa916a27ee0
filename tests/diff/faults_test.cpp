// Faults of known kind and place, planted in a training program: the engine has to name them.
#include <gtest/gtest.h>

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
  static bool names(const Origin& origin, const DiffResult& result, OpId idA, OpId idB) {
    const Pair& pair = result.pairs[size_t(origin.pair)];
    for (const uint32_t op : result.opsA(pair)) {
      if (idA && result.a.ops.ops[op].id == idA) return true;
    }
    for (const uint32_t op : result.opsB(pair)) {
      if (idB && result.b.ops.ops[op].id == idB) return true;
    }
    return false;
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

TEST_F(Faults, EveryPlaceEveryKind) {
  const ToyProgram clean(a(), {});
  const std::vector<ToyProgram::Call> calls = clean.calls();
  struct Kind { Fault fault; const char* name; bool structural; };
  const Kind kinds[] = {{Fault::oneUlp, "oneUlp", false}, {Fault::scaled, "scaled", false},
                        {Fault::nan, "nan", false}, {Fault::permuted, "permuted", false},
                        {Fault::missing, "missing", true}, {Fault::extra, "extra", true},
                        {Fault::twice, "twice", true}, {Fault::scalar, "scalar", true},
                        {Fault::dtypeDropped, "dtype", true}, {Fault::wrongTensor, "wrongTensor", true}};
  for (const Kind& kind : kinds) {
    int tried = 0, right = 0;
    for (int at = 0; at < int(calls.size()); ++at) {
      ToyOptions faulty;
      faulty.faults = {{kind.fault, at}};
      const ToyProgram other(b(), faulty);
      const DiffResult result = diff(a(), b(), {});
      const bool same = result.verdict == Verdict::identical;
      if (same && kind.fault == Fault::scalar) continue;  // the op takes none
      if (kind.fault == Fault::missing && other.calls()[size_t(at)].id) continue;
      if (kind.fault == Fault::twice && same) continue;
      if (same && (kind.fault == Fault::permuted || kind.fault == Fault::extra || kind.fault == Fault::dtypeDropped || kind.fault == Fault::wrongTensor)) continue;
      ++tried;
      const bool ok = result.first && names(*result.first, result, kind.structural && kind.fault != Fault::missing ? OpId{} : calls[size_t(at)].id, other.culprits()[0]) &&
                      (result.first->label == Label::structural) == kind.structural;
      right += ok;
      EXPECT_TRUE(ok) << kind.name << " at " << at << " " << calls[size_t(at)].name << " a#" << calls[size_t(at)].id.value
                      << " culprit b#" << other.culprits()[0].value << "\n" << show(result);
    }
    std::printf("%s: %d of %d\n", kind.name, right, tried);
  }
}

}  // namespace
}  // namespace ulpscope::testing
