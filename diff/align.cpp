#include "diff/align.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "diff/dataflow.h"

namespace ulpscope {
namespace {

using Index = std::vector<uint32_t>;

/// The units of one step.
struct Step {
  int32_t number = 0;
  Index units;
  uint64_t digest = 0;  ///< of the strict keys in order: a Merkle digest over the step's tree
};

std::vector<Step> stepsOf(const SideIndex& side, const std::vector<Unit>& units,
                          const std::vector<bool>& settled) {
  std::vector<Step> steps;
  for (uint32_t i = 0; i < units.size(); ++i) {
    if (settled[i]) continue;
    // Threads interleave, so a late op of the step before may come a little after the first of the
    // next: it stays with the stretch that it is in.
    const int32_t number = side.ops()[units[i].op].step;
    if (steps.empty() || number > steps.back().number) steps.push_back({number, {}, 0});
    steps.back().units.push_back(i);
    steps.back().digest = mix(steps.back().digest, units[i].key(0));
  }
  return steps;
}

class RunAligner {
 public:
  RunAligner(const SideIndex& sideA, const std::vector<Unit>& a, const SideIndex& sideB,
             const std::vector<Unit>& b, Alignment& alignment, Budget& budget)
      : sideA_(sideA), a_(a), sideB_(sideB), b_(b), alignment_(alignment), budget_(budget) {}

  void align(const Step& stepA, const Step& stepB) {
    if (stepA.digest == stepB.digest && stepA.units.size() == stepB.units.size()) {
      for (size_t i = 0; i < stepA.units.size(); ++i) {
        alignment_.join(stepA.units[i], stepB.units[i], Method::merkle);
      }
      return;
    }
    alignThreads(stepA.units, stepB.units);
  }

  void alignThreads(const Index& unitsA, const Index& unitsB) {
    std::map<uint32_t, Index> threadsA = byThread(sideA_, a_, unitsA);
    std::map<uint32_t, Index> threadsB = byThread(sideB_, b_, unitsB);
    if (threadsA.size() != threadsB.size() || threadsA.size() < 2) {
      // One side spread over more threads than the other: the order in which ops started is the
      // only common ground.
      alignWindow(a_, b_, {unitsA, unitsB}, alignment_, budget_);
      return;
    }
    for (const auto& [threadA, threadB] : matchThreads(threadsA, threadsB)) {
      alignWindow(a_, b_, {threadsA[threadA], threadsB[threadB]}, alignment_, budget_);
    }
  }

 private:
  static std::map<uint32_t, Index> byThread(const SideIndex& side, const std::vector<Unit>& units,
                                            const Index& which) {
    std::map<uint32_t, Index> threads;
    for (const uint32_t i : which) threads[side.ops()[units[i].op].thread].push_back(i);
    return threads;
  }

  /// Threads are numbered as they first appear, which may differ from run to run: the pair that
  /// shares most keys first.
  std::vector<std::pair<uint32_t, uint32_t>> matchThreads(
      const std::map<uint32_t, Index>& threadsA, const std::map<uint32_t, Index>& threadsB) const {
    struct Candidate {
      size_t common;
      uint32_t a, b;
    };
    std::vector<Candidate> candidates;
    for (const auto& [idA, unitsA] : threadsA) {
      std::unordered_map<uint64_t, size_t> counts;
      for (const uint32_t i : unitsA) ++counts[a_[i].key(5)];
      for (const auto& [idB, unitsB] : threadsB) {
        std::unordered_map<uint64_t, size_t> left = counts;
        size_t common = 0;
        for (const uint32_t j : unitsB) {
          const auto found = left.find(b_[j].key(5));
          if (found == left.end() || found->second == 0) continue;
          --found->second;
          ++common;
        }
        candidates.push_back({common, idA, idB});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& x, const Candidate& y) {
                       if (x.common != y.common) return x.common > y.common;
                       return (x.a == x.b) > (y.a == y.b);
                     });
    std::vector<std::pair<uint32_t, uint32_t>> result;
    std::vector<uint32_t> usedA, usedB;
    const auto used = [](const std::vector<uint32_t>& ids, uint32_t id) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    for (const Candidate& candidate : candidates) {
      if (used(usedA, candidate.a) || used(usedB, candidate.b)) continue;
      usedA.push_back(candidate.a);
      usedB.push_back(candidate.b);
      result.emplace_back(candidate.a, candidate.b);
    }
    return result;
  }

  const SideIndex& sideA_;
  const std::vector<Unit>& a_;
  const SideIndex& sideB_;
  const std::vector<Unit>& b_;
  Alignment& alignment_;
  Budget& budget_;
};

Index allUnits(const std::vector<Step>& steps) {
  Index all;
  for (const Step& step : steps) all.insert(all.end(), step.units.begin(), step.units.end());
  return all;
}

/// Do the step numbers mean the same on both sides? Not where one run counted steps and the other
/// did not.
bool stepsCorrespond(const std::vector<Step>& a, const std::vector<Step>& b) {
  if (a.size() < 2 && b.size() < 2) return false;
  if (a.size() < 2 || b.size() < 2) {
    // 1 against n: either a run of one step, or a run that did not count. Compare the sizes.
    const Step& one = a.size() < 2 ? a.front() : b.front();
    const std::vector<Step>& many = a.size() < 2 ? b : a;
    return one.units.size() < many[0].units.size() + many[1].units.size() / 2;
  }
  return true;
}

}  // namespace

void alignRuns(const SideIndex& sideA, const std::vector<Unit>& a, const SideIndex& sideB,
               const std::vector<Unit>& b, const Settled& settled, Alignment& alignment,
               Budget& budget, const std::function<void(double)>& progress) {
  const std::vector<Step> stepsA = stepsOf(sideA, a, settled.a);
  const std::vector<Step> stepsB = stepsOf(sideB, b, settled.b);
  if (stepsA.empty() || stepsB.empty()) return;
  RunAligner aligner(sideA, a, sideB, b, alignment, budget);
  if (!stepsCorrespond(stepsA, stepsB)) {
    if (stepsA.size() == 1 && stepsB.size() == 1) aligner.align(stepsA.front(), stepsB.front());
    else aligner.alignThreads(allUnits(stepsA), allUnits(stepsB));
    return;
  }
  size_t i = 0, j = 0, done = 0;
  while (i < stepsA.size() && j < stepsB.size()) {
    if (stepsA[i].number < stepsB[j].number) {
      ++i;
    } else if (stepsB[j].number < stepsA[i].number) {
      ++j;
    } else {
      aligner.align(stepsA[i++], stepsB[j++]);
    }
    if (progress) progress(double(++done) / double(stepsA.size() + stepsB.size()));
  }
}

}  // namespace ulpscope
