#pragma once

#include <vector>

#include "diff/groups.h"
#include "diff/values.h"

namespace ulpscope {

/// Two operands that stand for each other in a pair, as indices in the sides' operand tables.
struct OperandMatch {
  uint32_t a = 0;
  uint32_t b = 0;
  bool read = false;      ///< what goes in, else what comes out
  bool sameForm = true;   ///< shape and dtype are expected to agree
  bool weak = false;      ///< matched by kind and order alone
  int32_t maker = -1;     ///< of a kernel's input: the pair that made it; `a` or `b` is then the result
                          ///< of that pair whose value it holds, not an operand of this pair
};

/// Finds which operands of a pair's two sides stand for each other. Of two ops: by argument. Of a
/// group: what crosses its border, by what made it and what takes it; a kernel's outputs by the ties
/// of its provenance. Operands whose content means nothing (out= before the op, scratch, empty) are
/// left out.
class OperandMatcher {
 public:
  OperandMatcher(const AlignedSide& a, const AlignedSide& b, const Pairing& pairing,
                 ValueComparer& values);

  /// Appends to `out`, reads first. The pair has members on both sides. `makers`, where given, gets
  /// the pairs that made inputs which have no operand to compare with on the other side (a kernel
  /// that reads a buffer of which eager code reads views): whether those differ tells what the
  /// operand can't.
  void match(int32_t pair, std::vector<OperandMatch>& out,
             std::vector<int32_t>* makers = nullptr) const;

  /// The results alone.
  void matchResults(int32_t pair, std::vector<OperandMatch>& out) const;

  /// The pair that made the values an operand reads, behind views and copies; -1: none.
  int32_t rootPair(const AlignedSide& side, const std::vector<int32_t>& pairOf,
                   uint32_t operand) const;

  /// Is this operand of a compiled region's inside made by a kernel that was not seen?
  bool isMadeUnseen(const AlignedSide& side, uint32_t op, uint32_t operand) const;

 private:
  void matchOps(const Op& a, const Op& b, std::vector<OperandMatch>& out) const;
  void matchGroupReads(int32_t pair, std::vector<OperandMatch>& out,
                       std::vector<int32_t>* makers) const;
  void matchGroupResults(int32_t pair, std::vector<OperandMatch>& out) const;
  std::vector<uint32_t> crossing(int32_t pair, bool ofB, bool read) const;
  std::span<const uint32_t> members(int32_t pair, bool ofB) const;
  bool isSingle(int32_t pair) const;
  void matchKernelReads(int32_t pair, bool ofB, std::vector<uint32_t>& open,
                        std::vector<OperandMatch>& out, std::vector<int32_t>* makers) const;
  void matchTies(const AlignedSide& kernels, bool kernelsAreB, std::span<const uint32_t> members,
                 std::span<const uint32_t> others, std::vector<OperandMatch>& out,
                 std::vector<uint32_t>& used) const;
  int32_t tiedOperand(const AlignedSide& eager, const Op& op, int output) const;

  const AlignedSide& a_;
  const AlignedSide& b_;
  const Pairing& pairing_;
  ValueComparer& values_;
  std::vector<bool> leavesA_, leavesB_;  // by op: a result is read outside its pair, or by nobody
};

/// Does this operand's content mean something at this point of the op?
bool isMeaningful(const SideIndex& side, const Op& op, const Operand& operand);

}  // namespace ulpscope
