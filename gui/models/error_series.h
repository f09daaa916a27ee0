#pragma once

#include <vector>

#include "gui/models/document.h"

namespace ulpscope::gui {

/// What a stretch of consecutive pairs looks like from afar.
struct ErrorBin {
  uint32_t first = 0;  ///< pairs
  uint32_t end = 0;
  Label label = Label::identical;  ///< the one that matters most in the stretch
  float error = 0;                 ///< largest known
  float inherited = 0;             ///< largest known
  float added = 0;                 ///< largest of error - inherited
};

/// How much a label matters where there is room for one: a start outranks what follows from it.
int importance(Label label);

/// Divides the pairs [first, end) into at most `count` bins of about equal size, none empty.
std::vector<ErrorBin> binErrors(const Document& document, uint32_t first, uint32_t end,
                                uint32_t count);

/// Pairs where a difference starts (origin, structural, source), ascending.
std::vector<uint32_t> startingPairs(const Document& document);

}  // namespace ulpscope::gui
