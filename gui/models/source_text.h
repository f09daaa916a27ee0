#pragma once

#include <QString>

#include "gui/models/document.h"

namespace ulpscope::gui {

/// The stacks of a pair's ops, innermost first, as rich text; with the source lines around each
/// frame where the files are on this machine.
QString stackHtml(const Document& document, uint32_t pair);

/// What a compiled kernel was made from: original ops with module and source line, ties of its
/// outputs, generated code. Empty where no side of the pair has provenance.
QString kernelHtml(const Document& document, uint32_t pair);

}  // namespace ulpscope::gui
