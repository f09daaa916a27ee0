#pragma once

#include <QString>
#include <vector>

#include "gui/models/document.h"
#include "gui/models/operand_match.h"

namespace ulpscope::gui {

/// One neighbour of the chosen pair. `pair` is kNoPair for a value that no recorded op made.
struct FlowNeighbour {
  uint32_t pair = kNoPair;
  QString title;
  QString values;      ///< what flows: "input f32[2, 64]", one line a value
  bool onA = false;    ///< the edge exists on this side
  bool onB = false;
  Equality equality = Equality::unknown;  ///< unequal where any value on the edge is
};

/// The dataflow around one pair, of both sides at once.
struct Flow {
  uint32_t center = kNoPair;
  std::vector<FlowNeighbour> producers;  ///< of its inputs: those that differ first, then in order
  std::vector<FlowNeighbour> consumers;  ///< in order
  size_t moreConsumers = 0;              ///< left out over the limit
};

inline constexpr size_t kFlowLimit = 24;
Flow flowAround(const Document& document, uint32_t pair);

/// Follows unequal inputs upstream from a pair until the pair where the difference starts; the pairs
/// on the way, from the first step to the origin. Empty where the pair carries no difference.
std::vector<uint32_t> walkToOrigin(const Document& document, uint32_t pair);

}  // namespace ulpscope::gui
