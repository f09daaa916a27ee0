#pragma once

#include <cstdint>
#include <vector>

#include "diff/side_index.h"

namespace ulpscope {

/// For each operand that an op reads, the op that made exactly this tensor (a view op counts), or
/// else the op that last wrote its storage; -1 where no recorded op did. Indexed like
/// OpTable::operands; operands that are not read have -1.
std::vector<int32_t> producers(const SideIndex& side);

/// Is the tensor at this operand read by the op (input, or written argument before the op)?
inline bool isRead(Role role) { return role == Role::input || role == Role::before; }
inline bool isWritten(Role role) { return role == Role::output || role == Role::after; }

}  // namespace ulpscope
