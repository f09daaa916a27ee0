#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch_hook/instrument.h"
#include "dispatch_hook/native/call_entry.h"
#include "dispatch_hook/schema_info.h"

/// `aoti_torch_cpu_*`: C functions by which generated C++ code runs an op of the CPU without the
/// dispatcher, so that nobody sees it. Their parameters are named like the operator's arguments; which
/// there are, and with what parameters, is read from the headers of the torch that this is built with.
namespace ulpscope::native {

struct ShimParameter {
  enum class Kind : uint8_t {
    tensor, optionalTensor, tensorList, optionalTensorList, result,
    integer64, integer32, float64, text,
    optionalInteger64, optionalInteger32, optionalFloat64, optionalText,
    integers64, integers32, floats64, optionalIntegers64, optionalFloats64,
    other,  ///< passed in an integer register, not understood
  };
  std::string name;
  Kind kind = Kind::other;
  int16_t arg = -1;  ///< index of the operator's argument or, for a result, return; -1: neither
};

struct ShimOp {
  const SchemaInfo* info = nullptr;
  std::vector<ShimParameter> parameters;
};

/// What a call of a shim reads, writes and returns.
struct ShimCall {
  std::vector<instrument::KernelOperand> operands;
  std::vector<Scalar> scalars;
  std::vector<std::pair<at::Tensor* const*, int16_t>> results;  ///< filled by the call; may be null
};

/// Null where there is no operator for the function, or where the operator is made of others, which
/// are seen by themselves. The op lives as long as the process.
const ShimOp* shimOp(std::string_view function);
/// All functions that the headers declare, understood or not.
std::vector<std::string> shimFunctions();

/// Reads the arguments. Memory they point to belongs to the caller of the shim.
ShimCall readArguments(const ShimOp& op, const CaughtCall& call);
/// How much of the caller's stack holds arguments.
size_t stackWords(const ShimOp& op);

}  // namespace ulpscope::native
