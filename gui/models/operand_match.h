#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/document.h"

namespace ulpscope::gui {

enum class Equality : uint8_t { equal, unequal, unknown };

/// Operands of the two sides of a pair that stand for the same value. -1: no counterpart.
struct OperandMatch {
  int64_t opA = -1;  ///< index in a.ops.ops
  int64_t opB = -1;
  int64_t a = -1;    ///< index in a.ops.operands
  int64_t b = -1;
  bool written = false;  ///< outputs and arguments after the op
  Equality equality = Equality::unknown;
};

/// Matches the operands of a pair for showing them side by side: by position where both sides are
/// calls of one op, else the operands that the diff decided on, then a kernel's ties to its source
/// ops, then equal digests, then equal types in order. Only for the eye: the label of the pair is the
/// diff's. Inputs come first, then what was written.
std::vector<OperandMatch> matchOperands(const Document& document, const Pair& pair);

/// Equal digests; unknown where one side has no fingerprint.
Equality sameValue(const Document& document, const Operand& a, const Operand& b);

}  // namespace ulpscope::gui
