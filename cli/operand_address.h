#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "store/reader.h"

namespace ulpscope {

/// Where an operand is: "22", "22:after", "22:after1" (argument 1) or "22:input0.3" (item 3 of a list).
struct OperandAddress {
  OpId op;
  std::optional<Role> role;
  std::optional<int16_t> arg;
  std::optional<int16_t> item;

  /// Throws CommandError where the text is none.
  static OperandAddress parse(const std::string& text);
  bool matches(const Operand& operand) const;
};

/// The same for an operand that is there: "22:after1".
std::string addressOf(const Op& op, const Operand& operand);

/// An operand whose values are in the trace.
struct CapturedOperand {
  std::string trace;
  Op op;
  Operand operand;
  std::string opName;  ///< with the overload
  std::string name;    ///< of the operand
  TensorType type;
  std::vector<std::byte> values;
};

/// The one at this address; of several, results before inputs, and of those the largest. Throws
/// CommandError with what to do where the op is not there, or no such operand was captured.
CapturedOperand readCaptured(const Reader& trace, const OperandAddress& address);

}  // namespace ulpscope
