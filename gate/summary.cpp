#include "gate/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace ulpscope::gate {

std::vector<OpSummary> summarise(const DiffResult& result) {
  std::map<std::string, OpSummary> kinds;
  for (const Pair& pair : result.pairs) {
    const bool ofA = pair.countA > 0;
    const Side& side = ofA ? result.a : result.b;
    const std::span<const uint32_t> members = ofA ? result.opsA(pair) : result.opsB(pair);
    if (members.empty() || !side.reader) continue;
    OpSummary& kind = kinds[side.reader->schema(side.ops.ops[members.front()].schema).name];
    ++kind.pairs;
    switch (pair.label) {
      case Label::origin:
      case Label::source: ++kind.starts; break;
      case Label::propagated: ++kind.carries; break;
      case Label::structural: ++kind.structural; break;
      case Label::identical:
      case Label::within:
      case Label::healed:
      case Label::opaque: break;
    }
    if (std::isfinite(pair.error)) kind.worst = std::max(kind.worst, pair.error);
  }
  std::vector<OpSummary> found;
  for (auto& [name, kind] : kinds) {
    kind.op = name;
    if (kind.differing() > 0) found.push_back(std::move(kind));
  }
  std::stable_sort(found.begin(), found.end(), [](const OpSummary& x, const OpSummary& y) {
    return std::tuple(x.structural + x.starts, x.differing()) > std::tuple(y.structural + y.starts, y.differing());
  });
  return found;
}

}  // namespace ulpscope::gate
