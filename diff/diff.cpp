#include "diff/diff.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <thread>

#include "diff/align.h"
#include "diff/conclude.h"
#include "diff/context.h"
#include "diff/dataflow.h"
#include "diff/environment.h"
#include "diff/parameters.h"

namespace ulpscope {
namespace {

constexpr int32_t kAllSteps = std::numeric_limits<int32_t>::max();

/// Reads a trace up to and with a step.
Side openSide(const std::string& path, int32_t lastStep) {
  Side side;
  side.path = path;
  side.reader = std::make_shared<Reader>(path);
  side.complete = side.reader->complete();
  if (lastStep == kAllSteps) {
    side.ops = side.reader->readAll();
  } else {
    side.complete = true;  // of these steps nothing is missing: later ones were begun
    for (const int32_t step : side.reader->steps()) {
      if (step > lastStep) break;
      OpTable table = side.reader->readStep(step);
      for (Op& op : table.ops) op.firstOperand += uint32_t(side.ops.operands.size());
      side.ops.ops.insert(side.ops.ops.end(), table.ops.begin(), table.ops.end());
      side.ops.operands.insert(side.ops.operands.end(), table.operands.begin(),
                               table.operands.end());
    }
  }
  side.coverage = side.reader->coverage();
  side.kernels = std::count_if(side.ops.ops.begin(), side.ops.ops.end(),
                               [](const Op& op) { return op.kind == OpKind::kernel; });
  return side;
}

/// Runs both, the first on a thread of its own; rethrows what either throws.
template <class First, class Second>
void together(First&& first, Second&& second) {
  std::exception_ptr failure;
  std::thread other([&] {
    try {
      first();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  try {
    second();
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  if (failure) std::rethrow_exception(failure);
}

class Engine {
 public:
  explicit Engine(const DiffOptions& options) : options_(options) {}

  DiffResult run(const std::string& pathA, const std::string& pathB, int32_t lastStep) {
    context_ = std::make_shared<DiffContext>();
    context_->mapping = readMapping(options_.mapFile);
    progress(0);
    together([&] { result_.a = openSide(pathA, lastStep); },
             [&] { result_.b = openSide(pathB, lastStep); });
    progress(0.3);
    together([&] { context_->indexA = std::make_unique<SideIndex>(result_.a, nullptr); },
             [&] { context_->indexB = std::make_unique<SideIndex>(result_.b, &context_->mapping); });
    together([&] { context_->producersA = producers(*context_->indexA); },
             [&] { context_->producersB = producers(*context_->indexB); });
    progress(0.4);
    result_.environment =
        compareEnvironments(result_.a.reader->environment(), result_.b.reader->environment());
    align();
    progress(0.7);
    judgeAll();
    progress(0.9);
    finish();
    return std::move(result_);
  }

  /// The relative error of each operand of A against the other run; empty where there is no pair.
  std::vector<float> errorsOfA() const {
    std::vector<float> errors(result_.a.ops.operands.size(), 0);
    std::vector<OperandMatch> matches;
    for (size_t p = 0; p < context_->pairing.pairs.size(); ++p) {
      const Pair& pair = context_->pairing.pairs[p];
      if (pair.countA == 0 || pair.countB == 0) continue;
      matches.clear();
      context_->matcher->match(int32_t(p), matches);
      for (const OperandMatch& match : matches) {
        const Compared compared =
            context_->values->compare(result_.a.ops.operands[match.a],
                                      result_.b.ops.operands[match.b], match.sameForm);
        if (!compared.differs()) continue;
        const float error = std::isnan(compared.relative) || compared.relative == 0
                                ? std::numeric_limits<float>::min() : compared.relative;
        errors[match.a] = std::max(errors[match.a], error);
      }
    }
    return errors;
  }
  DiffResult& result() { return result_; }

 private:
  void progress(double share) const {
    if (options_.progress && !options_.progress(share)) throw Cancelled();
  }

  static bool hasCompiled(const Side& side) {
    return std::any_of(side.ops.ops.begin(), side.ops.ops.end(), [](const Op& op) {
      return op.kind == OpKind::compiled || op.kind == OpKind::kernel;
    });
  }

  /// Two runs that were compiled alike align kernel by kernel; otherwise kernels take part as the
  /// ops that they came from.
  KernelUnits kernelUnits() const {
    if (!hasCompiled(result_.a) || !hasCompiled(result_.b)) return KernelUnits::sources;
    std::unordered_map<uint64_t, int64_t> counts;
    int64_t kernelsA = 0, kernelsB = 0, common = 0;
    for (size_t i = 0; i < context_->indexA->size(); ++i) {
      const Op& op = context_->indexA->ops()[i];
      if (op.kind != OpKind::kernel) continue;
      ++kernelsA;
      ++counts[context_->indexA->variant(op)];
    }
    for (size_t j = 0; j < context_->indexB->size(); ++j) {
      const Op& op = context_->indexB->ops()[j];
      if (op.kind != OpKind::kernel) continue;
      ++kernelsB;
      if (const auto found = counts.find(context_->indexB->variant(op));
          found != counts.end() && found->second-- > 0) {
        ++common;
      }
    }
    if (kernelsA == 0 && kernelsB == 0) return KernelUnits::whole;
    return common * 10 >= std::max(kernelsA, kernelsB) * 8 ? KernelUnits::whole
                                                           : KernelUnits::sources;
  }

  void align() {
    DiffContext& c = *context_;
    const KernelUnits kernels = kernelUnits();
    mixed_ = hasCompiled(result_.a) != hasCompiled(result_.b);
    const bool loose = kernels == KernelUnits::sources &&
                       (hasCompiled(result_.a) || hasCompiled(result_.b));
    const ParameterNames parameters = matchParameters(*c.indexA, *c.indexB);
    together([&] { c.unitsA = makeUnits(*c.indexA, c.producersA, parameters.a, kernels, loose); },
             [&] { c.unitsB = makeUnits(*c.indexB, c.producersB, parameters.b, kernels, loose); });
    c.a = std::make_unique<AlignedSide>(AlignedSide{*c.indexA, c.unitsA, c.producersA});
    c.b = std::make_unique<AlignedSide>(AlignedSide{*c.indexB, c.unitsB, c.producersB});

    std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>> mapped;
    Settled settled = settle(mapped);
    Alignment alignment(c.unitsA.size(), c.unitsB.size());
    Budget budget;
    if (loose) alignByProvenance(*c.indexA, c.unitsA, *c.indexB, c.unitsB, settled, alignment);
    alignRuns(*c.indexA, c.unitsA, *c.indexB, c.unitsB, settled, alignment, budget,
              [&](double share) { progress(0.4 + 0.3 * share); });
    alignByProducers(*c.indexA, c.unitsA, c.producersA, *c.indexB, c.unitsB, c.producersB, settled,
                     loose, alignment);
    if (!loose) alignReordered(*c.indexA, c.unitsA, *c.indexB, c.unitsB, settled, alignment);
    result_.budgetExceeded = budget.exceeded;
    c.pairing = makePairs(*c.a, *c.b, alignment, mapped);
  }

  Settled settle(std::vector<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>>& mapped) {
    DiffContext& c = *context_;
    Settled settled{std::vector<bool>(c.unitsA.size(), false),
                    std::vector<bool>(c.unitsB.size(), false)};
    if (c.mapping.ops.empty()) return settled;
    std::vector<bool> opsA(c.indexA->size(), false), opsB(c.indexB->size(), false);
    size_t unknown = 0;
    for (const Mapping::Ops& group : c.mapping.ops) {
      std::pair<std::vector<uint32_t>, std::vector<uint32_t>> found;
      const auto resolve = [&](const SideIndex& index, const std::vector<int64_t>& ids,
                               std::vector<uint32_t>& out, std::vector<bool>& taken) {
        for (const int64_t id : ids) {
          const int32_t at = index.indexOf(OpId{id});
          if (at < 0 || taken[size_t(at)]) {
            ++unknown;
            continue;
          }
          taken[size_t(at)] = true;
          out.push_back(uint32_t(at));
        }
      };
      resolve(*c.indexA, group.a, found.first, opsA);
      resolve(*c.indexB, group.b, found.second, opsB);
      if (!found.first.empty() || !found.second.empty()) mapped.push_back(std::move(found));
    }
    for (size_t i = 0; i < c.unitsA.size(); ++i) settled.a[i] = opsA[c.unitsA[i].op];
    for (size_t j = 0; j < c.unitsB.size(); ++j) settled.b[j] = opsB[c.unitsB[j].op];
    if (unknown > 0) {
      result_.notes.push_back(std::to_string(unknown) +
                              " ops of the mapping file are in neither trace or named twice.");
    }
    return settled;
  }

  void judgeAll() {
    DiffContext& c = *context_;
    c.values = std::make_unique<ValueComparer>(*c.indexA, *c.indexB);
    c.matcher = std::make_unique<OperandMatcher>(*c.a, *c.b, c.pairing, *c.values);
    std::vector<float> noise;
    if (!options_.noiseFile.empty()) noise = noiseFloor();
    const Allowance allowance(*c.a, options_.tolerance, readRules(options_.rulesFile),
                              std::move(noise));
    c.judgement = judge(*c.a, *c.b, c.pairing, *c.matcher, *c.values, allowance, mixed_);
    c.expected = std::make_unique<ExpectedReasons>(*c.a, *c.b, c.pairing);
    for (Pair& pair : c.pairing.pairs) {
      if (pair.label == Label::origin && !c.expected->of(pair).empty()) pair.expected = true;
    }
    excuseTails();
    c.growth = findGrowth(*c.a, *c.b, c.pairing, c.judgement, mixed_);
    hostDiffered_ = c.judgement.hostDiffered;
  }

  std::vector<float> noiseFloor() const {
    DiffOptions options;
    options.mapFile = options_.mapFile;
    if (options_.progress) {
      options.progress = [this](double) { return options_.progress(0.7); };
    }
    Engine noise(options);
    noise.result_ = noise.runKeeping(result_.a.path, options_.noiseFile);
    return noise.errorsOfA();
  }
  DiffResult runKeeping(const std::string& pathA, const std::string& pathB) {
    DiffResult result = run(pathA, pathB, kAllSteps);
    return result;
  }

  /// What a trace that was cut short lacks at its end is not a difference.
  void excuseTails() {
    DiffContext& c = *context_;
    const auto excuse = [&](bool cutA) {
      for (size_t p = c.pairing.pairs.size(); p-- > 0;) {
        Pair& pair = c.pairing.pairs[p];
        const bool lacks = cutA ? pair.countA == 0 : pair.countB == 0;
        if (!lacks) break;
        if (pair.label == Label::structural) {
          pair.label = Label::opaque;
          pair.difference = Difference::unknown;
          cut_ = true;
        }
      }
    };
    if (!result_.a.complete) excuse(true);
    if (!result_.b.complete) excuse(false);
  }

  void finish() {
    DiffContext& c = *context_;
    result_.pairs = c.pairing.pairs;
    result_.membersA = c.pairing.membersA;
    result_.membersB = c.pairing.membersB;
    c.unitsA = {};
    c.unitsB = {};
    result_.context = context_;
    for (const int32_t pair : c.growth.frontier) result_.frontier.push_back(describe(result_, pair));
    if (c.growth.first >= 0) result_.first = result_.frontier[size_t(c.growth.first)];
    if (c.growth.dominant >= 0) result_.dominant = result_.frontier[size_t(c.growth.dominant)];
    conclude(result_, cut_, hostDiffered_);
  }

  const DiffOptions& options_;
  std::shared_ptr<DiffContext> context_;
  DiffResult result_;
  bool mixed_ = false;
  bool cut_ = false;
  bool hostDiffered_ = false;
};

/// Compares ever longer beginnings of the two runs until one holds a difference; none where they
/// have no steps to go by, or where nothing differs before the last ones.
std::optional<DiffResult> diffOfFirstSteps(const std::string& a, const std::string& b,
                                           const DiffOptions& options) {
  const std::vector<int32_t> stepsA = Reader(a).steps(), stepsB = Reader(b).steps();
  const size_t common = std::min(stepsA.size(), stepsB.size());
  for (size_t count = 1; count < common; count *= 2) {
    // Steps are paired by their number: look as far as both have gone.
    const int32_t last = std::min(stepsA[count - 1], stepsB[count - 1]);
    DiffResult result = Engine(options).run(a, b, last);
    if (!result.first || result.verdict == Verdict::notComparable) continue;
    result.notes.push_back("Only what comes before step " + std::to_string(last + 1) +
                           " was read, as --first asks: what starts later, the dominant origin and "
                           "the counts are not known.");
    result.dominant.reset();
    return result;
  }
  return std::nullopt;
}

}  // namespace

DiffResult diff(const std::string& a, const std::string& b, const DiffOptions& options) {
  if (options.firstOnly) {
    if (std::optional<DiffResult> found = diffOfFirstSteps(a, b, options)) return std::move(*found);
  }
  return Engine(options).run(a, b, kAllSteps);
}

int exitStatus(Verdict verdict) {
  switch (verdict) {
    case Verdict::identical:
    case Verdict::withinTolerance: return 0;
    case Verdict::numeric: return 1;
    case Verdict::structural: return 3;
    case Verdict::notComparable: return 4;
  }
  return 2;
}

}  // namespace ulpscope
