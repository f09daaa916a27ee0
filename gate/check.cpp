#include "gate/check.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include "diff/environment.h"
#include "gate/encode.h"
#include "gate/replay.h"
#include "store/error.h"

namespace ulpscope::gate {
namespace {

namespace fs = std::filesystem;

/// The answer where both hold the same lines: no engine is needed for it. Both sides are the run.
DiffResult sameResult(const std::shared_ptr<Reader>& trace, OpTable ops) {
  DiffResult result;
  const auto count = uint32_t(ops.ops.size());
  for (uint32_t i = 0; i < count; ++i) {
    result.membersA.push_back(i);
    result.pairs.push_back({.firstA = i, .firstB = i, .countA = 1, .countB = 1,
                            .method = Method::merkle, .confidence = 1});
  }
  result.membersB = result.membersA;
  for (Side* side : {&result.a, &result.b}) {
    side->reader = trace;
    side->complete = trace->complete();
    side->coverage = trace->coverage();
    side->kernels = int64_t(side->coverage.kernels);
  }
  result.a.ops = ops;
  result.b.ops = std::move(ops);
  result.counts.pairs = result.counts.identical = int64_t(count);
  result.verdict = count == 0 ? Verdict::notComparable : Verdict::identical;
  if (count == 0) result.notComparableReason = "neither the baseline nor the run holds an op";
  return result;
}

/// A baseline keeps less than a trace: bits that differ by less than it can tell have no size.
void forgetZeroSizes(DiffResult& result) {
  const auto forget = [](Origin& origin) {
    if (origin.relativeError == 0) {
      origin.relativeError = origin.ulp = std::numeric_limits<double>::quiet_NaN();
    }
  };
  if (result.first) forget(*result.first);
  if (result.dominant) forget(*result.dominant);
  for (Origin& each : result.frontier) forget(each);
}

/// What a baseline leaves out and the run's own trace has: source lines.
void addStacks(DiffResult& result, const Reader& trace, const OpTable& ops) {
  const auto add = [&](std::optional<Origin>& origin) {
    if (!origin || !origin->b) return;
    const auto at = std::lower_bound(ops.ops.begin(), ops.ops.end(), origin->b->id,
                                     [](const Op& op, OpId id) { return op.id < id; });
    if (at == ops.ops.end() || at->id != origin->b->id) return;
    const Op* place = &*at;
    if (place->phase == Phase::backward && place->sequence >= 0) {  // the forward op's line says more
      for (const Op& forward : ops.ops) {
        if (forward.sequence == place->sequence && forward.phase == Phase::forward &&
            forward.thread == place->forwardThread) {
          place = &forward;
          break;
        }
      }
    }
    origin->b->stack = trace.stack(place->stack);
  };
  add(result.first);
  add(result.dominant);
  for (Origin& each : result.frontier) {
    std::optional<Origin> one = std::move(each);
    add(one);
    each = std::move(*one);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "ulpscope-XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr) {
    throw TraceError(TraceError::Code::io, "can't make a temporary folder; set TMPDIR to a place with room");
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

Checked check(const Folder::Entry& entry, const std::string& tracePath, const CheckOptions& options) {
  Checked checked;
  const auto reader = std::make_shared<Reader>(tracePath);
  const Reader& trace = *reader;
  OpTable ops = trace.readAll();
  Baseline baseline;
  std::exception_ptr failure;
  std::thread reading([&] {
    try {
      baseline = readBaseline(entry.file.string());
    } catch (...) {
      failure = std::current_exception();
    }
  });
  try {
    checked.run = encode(trace, ops);
  } catch (...) {
    reading.join();
    throw;
  }
  reading.join();
  if (failure) std::rethrow_exception(failure);

  checked.key = environmentKey(checked.run.environment);
  checked.facts = compareEnvironments(keyFacts(baseline.environment), keyFacts(checked.run.environment));
  checked.exact = checked.facts.empty();

  if (baseline.sameRun(checked.run)) {
    checked.result = sameResult(reader, std::move(ops));
  } else {
    checked.files = std::make_shared<TemporaryFolder>();
    const std::string a = (checked.files->path() / "baseline.ulps").string();
    const std::string b = (checked.files->path() / "run.ulps").string();
    std::vector<OpId> ids;
    ids.reserve(ops.ops.size());
    for (const Op& op : ops.ops) ids.push_back(op.id);
    std::thread writing([&] {
      try {
        replay(baseline, entry.file.string(), a, {});
      } catch (...) {
        failure = std::current_exception();
      }
    });
    try {
      replay(checked.run, tracePath, b, ids);
    } catch (...) {
      writing.join();
      throw;
    }
    writing.join();
    if (failure) std::rethrow_exception(failure);

    DiffOptions diffOptions;
    diffOptions.tolerance = options.tolerance;
    diffOptions.rulesFile = options.rulesFile;
    diffOptions.progress = options.progress;
    if (!checked.exact) {
      diffOptions.tolerance.rtol = std::max(diffOptions.tolerance.rtol, options.fallbackTolerance);
    }
    checked.result = diff(a, b, diffOptions);
    checked.result.b.coverage = trace.coverage();
    addStacks(checked.result, trace, ops);
    forgetZeroSizes(checked.result);
  }
  checked.result.environment = compareEnvironments(baseline.environment, checked.run.environment);
  checked.result.a.path = entry.file.string();
  checked.result.b.path = tracePath;
  return checked;
}

}  // namespace ulpscope::gate
