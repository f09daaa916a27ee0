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
/// "A: eager.ulps"; with the folder where both files have one name.
QString sideTitle(const Document& document, SideName which);
QString frameText(const Frame& frame);        ///< "modeling_gpt2.py:412 in forward"

QString opTitle(const Side& side, const Op& op);      ///< "native_layer_norm", "mylib::op"
/// As opTitle; a generated kernel is "kernel 3", for its name only repeats the ops that it fuses.
QString opShortTitle(const Side& side, const Op& op);
QString opFullTitle(const Side& side, const Op& op);  ///< "aten::native_layer_norm"
QString resultText(const Side& side, const Op& op);   ///< type of what it writes first, or ""
QString operandName(const Side& side, const Op& op, const Operand& operand);  ///< "input", "out 0"
QString foldTitle(const FoldTree& tree, const FoldNode& node);
/// A module's name without what its parent's already says: "ln_1" in "transformer.h.0".
QString shortTitle(const FoldTree& tree, const FoldNode& node);
QString foldDetail(const FoldTree& tree, const FoldNode& node);
/// "step 0 › forward › transformer.h.0.ln_1"
QString placeText(const FoldTree& tree, uint32_t node);
/// As placeText, by the op that decided: "step 0 › forward › transformer.h.0.ln_1" where a group runs
/// over several modules.
QString pairPlace(const Document& document, uint32_t pair);
/// The op of a group that decided its label, as a position among the longer side's; 0 for a pair of
/// two ops.
uint32_t decisiveMember(const Document& document, uint32_t pair);
/// The pair in one line: the op of A that decided (of B where A has none), and how many more there
/// are: "native_layer_norm +6".
QString pairTitle(const Document& document, uint32_t pair);

}  // namespace ulpscope::gui
