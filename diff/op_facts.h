#pragma once

#include <string>
#include <string_view>

#include "store/records.h"

/// What the engine knows about operators by name. Everything here is about meaning that a trace does
/// not carry; an op that is not listed gets the cautious answer (false).
namespace ulpscope {

struct OpFacts {
  bool random = false;      ///< draws from a generator
  bool movesData = false;   ///< output is a view or a copy of the input: no arithmetic
  bool copies = false;      ///< of those: writes a copy, views nothing
  bool allocates = false;   ///< output has no defined content
  bool workspace = false;   ///< its byte tensors are memory of its own: opaque, partly unwritten
  bool overwrites = false;  ///< the first argument's content before the op means nothing
  bool sync = false;        ///< a value reaches the host, and with it later scalars and shapes
  bool takesMask = false;   ///< a list of indices, of which a bool tensor decides the result's shape
  bool amplifies = false;   ///< may turn a small relative error into a large one
  bool partial = false;     ///< undefined for some inputs: can make NaN or Inf of finite values
  bool reduces = false;     ///< sums over a dimension
  bool contracts = false;   ///< sums products: mm, convolution, attention
  bool commutative = false; ///< its first two tensors may change places
};

OpFacts factsOf(const Schema& schema);

/// The name that all variants of one operator share: in-place, out=, functional and copying forms
/// and torch's internal synonyms ("aten::add_" -> "aten::add", "aten::_unsafe_view" -> "aten::view").
std::string baseName(std::string_view name);

/// Does this argument only receive a result (out=)? Its content before the op means nothing.
bool isOutArgument(const Schema& schema, int argument);

}  // namespace ulpscope
