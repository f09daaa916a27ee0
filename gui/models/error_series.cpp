#include "gui/models/error_series.h"

#include <algorithm>
#include <cmath>

namespace ulpscope::gui {

int importance(Label label) {
  switch (label) {
    case Label::origin: return 7;
    case Label::source: return 6;
    case Label::structural: return 5;
    case Label::propagated: return 4;
    case Label::healed: return 3;
    case Label::within: return 2;
    case Label::opaque: return 1;
    case Label::identical: return 0;
  }
  return 0;
}

std::vector<ErrorBin> binErrors(const Document& document, uint32_t first, uint32_t end,
                                uint32_t count) {
  std::vector<ErrorBin> bins;
  end = std::min(end, uint32_t(document.pairs().size()));
  if (first >= end || count == 0) return bins;
  const uint64_t size = end - first;
  count = uint32_t(std::min<uint64_t>(count, size));
  bins.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    ErrorBin bin;
    bin.first = first + uint32_t(i * size / count);
    bin.end = first + uint32_t((i + 1) * size / count);
    for (uint32_t at = bin.first; at < bin.end; ++at) {
      const Pair& pair = document.pairs()[at];
      if (importance(pair.label) > importance(bin.label)) bin.label = pair.label;
      const float error = std::isnan(pair.error) ? 0.F : pair.error;
      const float inherited = std::isnan(pair.inherited) ? 0.F : pair.inherited;
      bin.error = std::max(bin.error, error);
      bin.inherited = std::max(bin.inherited, inherited);
      if (!std::isinf(inherited)) bin.added = std::max(bin.added, error - inherited);
    }
    bins.push_back(bin);
  }
  return bins;
}

std::vector<uint32_t> startingPairs(const Document& document) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < document.pairs().size(); ++i)
    if (importance(document.pairs()[i].label) >= importance(Label::structural)) found.push_back(i);
  return found;
}

}  // namespace ulpscope::gui
