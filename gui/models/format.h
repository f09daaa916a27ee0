#pragma once

#include <QString>

#include "gui/models/document.h"

/// The words and figures that all views print, so that one thing reads the same everywhere.
namespace ulpscope::gui {

QString text(const std::string& value);
QString labelText(Label label);       ///< "starts here", "carried on", ... for people
QString labelMeaning(Label label);    ///< one sentence, for tooltips and the legend
QString errorText(float error);       ///< "2.1e-07", "0", "?" where unknown
QString ulpText(float ulp);           ///< "1.1 ulp", "" where unknown
QString typeText(const TensorType& type);     ///< "f32[2, 64, 128]"
QString stridesText(const TensorType& type);  ///< "(8192, 128, 1)", "contiguous"
QString digestText(const Digest& digest);     ///< the first 12 digits
QString numberText(double value);             ///< 6 significant digits
QString frameText(const Frame& frame);        ///< "modeling_gpt2.py:412 in forward"

QString opTitle(const Side& side, const Op& op);      ///< "native_layer_norm", "mylib::op"
QString opFullTitle(const Side& side, const Op& op);  ///< "aten::native_layer_norm"
QString resultText(const Side& side, const Op& op);   ///< type of what it writes first, or ""
QString operandName(const Side& side, const Op& op, const Operand& operand);  ///< "input", "out 0"
QString foldTitle(const FoldTree& tree, const FoldNode& node);
/// A module's name without what its parent's already says: "ln_1" in "transformer.h.0".
QString shortTitle(const FoldTree& tree, const FoldNode& node);
QString foldDetail(const FoldTree& tree, const FoldNode& node);
/// "step 0 › forward › transformer.h.0.ln_1"
QString placeText(const FoldTree& tree, uint32_t node);
/// The pair in one line, for tooltips and lists: the op of A, or of B where A has none.
QString pairTitle(const Document& document, uint32_t pair);

}  // namespace ulpscope::gui
