#pragma once

#include <string>
#include <vector>

#include "diff/result.h"

namespace ulpscope {

/// Why a pair got its label, for people who want to check it.
struct PairAccount {
  /// What was compared: both sides of one operand.
  struct OperandLine {
    bool read = false;
    std::string name;      ///< of the argument or return: "self", "tensors[2]"
    std::string type;      ///< "f32[2, 64]", of A and of B where they differ
    std::string finding;   ///< "identical", "2.1e-07 relative, about 1.1 ulp", "not compared: device"
    bool differs = false;
    std::string maker;     ///< what made it: "aten::mm #12 | #13, which starts here"; "" unknown
    int32_t makerPair = -1;
  };
  std::vector<OperandLine> operands;
  std::string pairing;                 ///< how the pair was found, a sentence
  std::vector<std::string> reasons;    ///< the label and what led to it, a sentence each
  std::vector<std::string> doubts;     ///< what lowers the confidence, a sentence each
  std::vector<int32_t> path;  ///< of what it inherits most: pairs from its origin to this one
};

/// Needs a result that still has its context; else the account holds the pairing alone. The index is
/// of `result.pairs`.
PairAccount accountFor(const DiffResult& result, int32_t pair);

/// The pair that holds an op of A (or of B), or -1.
int32_t pairOf(const DiffResult& result, bool ofA, OpId op);

}  // namespace ulpscope
