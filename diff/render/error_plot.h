#pragma once

#include <string>

#include "diff/result.h"

namespace ulpscope {

/// The relative error of all pairs, in program order on a logarithmic scale, as an inline SVG: many
/// pairs share a bar, which shows the worst of them, and a mark stands at each origin. Marks link to
/// "#row=PAIR". "" where no pair has an error. Colours are the page's (classes named as the labels).
std::string errorPlot(const DiffResult& result);

}  // namespace ulpscope
