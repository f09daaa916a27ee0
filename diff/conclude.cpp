#include "diff/conclude.h"

#include <algorithm>
#include <tuple>

#include "diff/context.h"

namespace ulpscope {
namespace {

constexpr double kLeastCommon = 0.02;  // of the shorter side, or the traces have nothing in common

void count(DiffResult& result) {
  Counts& counts = result.counts;
  for (const Pair& pair : result.pairs) {
    if (pair.countA > 0 && pair.countB > 0) ++counts.pairs;
    switch (pair.label) {
      case Label::identical: ++counts.identical; break;
      case Label::within: ++counts.within; break;
      case Label::origin: ++counts.origin; break;
      case Label::propagated: ++counts.propagated; break;
      case Label::healed: ++counts.healed; break;
      case Label::structural: ++counts.structural; break;
      case Label::source: ++counts.source; break;
      case Label::opaque: ++counts.opaque; break;
    }
  }
}

void decide(DiffResult& result, bool cut) {
  const size_t shorter = std::min(result.a.ops.ops.size(), result.b.ops.ops.size());
  if (result.counts.pairs == 0 || double(result.counts.pairs) < kLeastCommon * double(shorter)) {
    const bool empty = shorter == 0;
    result.verdict = Verdict::notComparable;
    result.notComparableReason =
        empty ? (result.a.ops.ops.empty() ? "A holds no op" : "B holds no op")
              : "the two traces have next to nothing in common: they look like different programs";
    return;
  }
  if (result.first) {
    const bool structural =
        std::any_of(result.frontier.begin(), result.frontier.end(),
                    [](const Origin& origin) { return origin.label == Label::structural; });
    result.verdict = structural ? Verdict::structural : Verdict::numeric;
    return;
  }
  if (cut || (!result.a.complete && !result.b.complete)) {
    result.verdict = Verdict::notComparable;
    result.notComparableReason =
        std::string(!result.a.complete && !result.b.complete ? "both traces were"
                    : !result.a.complete                      ? "A was"
                                                               : "B was") +
        " cut short before any difference; what both recorded agrees";
    return;
  }
  result.verdict = result.counts.within > 0 ? Verdict::withinTolerance : Verdict::identical;
}

void note(DiffResult& result, bool hostDiffered) {
  std::vector<std::string>& notes = result.notes;
  if (result.budgetExceeded) {
    notes.push_back("Some stretch was too large and too different to align op by op: it was "
                    "aligned by order alone, with low confidence.");
  }
  for (const auto& [index, name] :
       {std::pair(result.context->indexA.get(), "A"), std::pair(result.context->indexB.get(), "B")}) {
    const std::string kernels = index->reader().meta("kernels");
    if (!kernels.empty()) {
      notes.push_back("Of compiled code in " + std::string(name) + ", " + kernels +
                      ". Its inputs, outputs and calls of other ops are compared.");
    }
  }
  int64_t harmless = 0;
  for (size_t p = 0; p < result.pairs.size(); ++p) {
    if (result.pairs[p].label != Label::structural) continue;
    harmless += std::find(result.context->growth.frontier.begin(), result.context->growth.frontier.end(),
                          int32_t(p)) == result.context->growth.frontier.end();
  }
  if (harmless > 0 && !result.first) {
    notes.push_back(std::to_string(harmless) +
                    " stretches of ops exist on one side only and change no value that was "
                    "compared (views, copies, or ops that compiled code leaves out).");
  }
  if (hostDiffered) {
    notes.push_back("A differing value reached the host (item() or the like): scalars and shapes "
                    "after it may differ because of it.");
  }
  for (const auto& [side, name] : {std::pair(&result.a, "A"), std::pair(&result.b, "B")}) {
    if (!side->complete) {
      notes.push_back(std::string(name) + " was cut short: what it lacks at its end is not "
                      "counted as a difference.");
    }
    if (side->coverage.closureBroken > 0) {
      notes.push_back(std::to_string(side->coverage.closureBroken) + " inputs of " + name +
                      " were written by something that the recorder did not see.");
    }
  }
}

}  // namespace

void conclude(DiffResult& result, bool cut, bool hostDiffered) {
  count(result);
  decide(result, cut);
  note(result, hostDiffered);
}

}  // namespace ulpscope
