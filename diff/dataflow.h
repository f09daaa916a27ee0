#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "diff/side_index.h"

namespace ulpscope {

/// Who made what each operand reads, by index in OpTable::operands.
class Producers {
 public:
  Producers() = default;
  explicit Producers(size_t operands) : newest_(operands, -1) {}

  /// The op that made exactly this tensor (a view op counts), or else the op that last wrote any of
  /// its elements; -1 where no recorded op did, and for operands that are not read.
  int32_t operator[](size_t operand) const { return newest_[operand]; }
  size_t size() const { return newest_.size(); }

  struct Part {
    uint32_t operand = 0;
    int32_t op = -1;
  };
  /// Where the newest writer wrote only a part: the ops that wrote the rest, newest first.
  std::span<const Part> others(uint32_t operand) const;

  void set(size_t operand, int32_t op) { newest_[operand] = op; }
  void addOther(uint32_t operand, int32_t op) { parts_.push_back({operand, op}); }

 private:
  std::vector<int32_t> newest_;
  std::vector<Part> parts_;  // in order of operand
};

Producers producers(const SideIndex& side);

/// Is the tensor at this operand read by the op (input, or written argument before the op)?
inline bool isRead(Role role) { return role == Role::input || role == Role::before; }
inline bool isWritten(Role role) { return role == Role::output || role == Role::after; }

}  // namespace ulpscope
