#pragma once

#include <string>
#include <vector>

#include "diff/groups.h"
#include "diff/values.h"

namespace ulpscope {

/// A tolerance for some ops. Empty patterns match all; the others are globs with '*' and '?'.
struct ToleranceRule {
  std::string op;      ///< operator as A names it, all variants: "aten::mm", "aten::_foreach_*"
  std::string module;  ///< qualified module path in A: "encoder.*"
  std::string phase;   ///< "forward", "backward", "optimizer", "other"
  std::string dtype;   ///< of the operand: "bfloat16"
  Tolerance tolerance;
};

/// Reads a file of rules (docs/alignment.md). Throws TraceError (one line) where it is missing or
/// can't be parsed; "" gives none.
std::vector<ToleranceRule> readRules(const std::string& path);

/// What may differ without being a difference: inside the tolerance of the op, or no more than two
/// runs of A differ from each other.
class Allowance {
 public:
  /// `noise`: by operand of A, the relative error between two runs of A; may be empty. The sides
  /// must outlive it.
  Allowance(const AlignedSide& a, const Tolerance& tolerance, std::vector<ToleranceRule> rules,
            std::vector<float> noise);

  /// May this operand of A, written by A's op `op` (index), differ so? Of an input: the op that
  /// made it, or where nobody did, the op that reads it.
  bool accepts(uint32_t operandA, uint32_t op, const Compared& compared) const;

 private:
  const Tolerance& toleranceOf(uint32_t operandA, uint32_t op) const;

  const AlignedSide& a_;
  Tolerance tolerance_;
  std::vector<ToleranceRule> rules_;
  std::vector<float> noise_;
};

}  // namespace ulpscope
