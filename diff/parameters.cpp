#include "diff/parameters.h"

#include <array>
#include <unordered_set>
#include <vector>

#include "diff/dataflow.h"

namespace ulpscope {
namespace {

struct Touched {
  int64_t storage = 0;
  uint64_t type = 0;
};
constexpr std::array kPhases = {Phase::optimizer, Phase::backward, Phase::forward, Phase::other};

/// The parameters in the order in which one phase of one step first reads them.
std::vector<Touched> order(const SideIndex& side, Phase phase, int32_t step) {
  std::vector<Touched> result;
  std::unordered_set<int64_t> seen;
  for (const Op& op : side.ops()) {
    if (op.step > step) break;
    if (op.phase != phase || op.step != step) continue;
    for (const Operand& operand : side.operandsOf(op)) {
      if (!isRead(operand.role) || !(operand.flags & kParameter) || !operand.storage) continue;
      if (seen.insert(operand.storage.value).second) {
        result.push_back({operand.storage.value, side.type(operand.type)});
      }
    }
  }
  return result;
}

}  // namespace

ParameterNames matchParameters(const SideIndex& a, const SideIndex& b) {
  ParameterNames names;
  if (a.size() == 0 || b.size() == 0) return names;
  const int32_t stepA = a.ops().front().step, stepB = b.ops().front().step;
  uint64_t next = 0;
  for (const Phase phase : kPhases) {
    const std::vector<Touched> as = order(a, phase, stepA), bs = order(b, phase, stepB);
    bool same = as.size() == bs.size();
    for (size_t i = 0; same && i < as.size(); ++i) same = as[i].type == bs[i].type;
    if (!same) continue;
    for (size_t i = 0; i < as.size(); ++i) {
      if (names.a.contains(as[i].storage) || names.b.contains(bs[i].storage)) continue;
      ++next;
      names.a[as[i].storage] = next;
      names.b[bs[i].storage] = next;
    }
  }
  return names;
}

}  // namespace ulpscope
