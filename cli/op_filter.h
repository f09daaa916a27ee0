#pragma once

#include <optional>
#include <string>

#include "store/reader.h"

namespace ulpscope {

/// Which ops a command is about. Empty: all.
struct OpFilter {
  std::optional<int32_t> step;
  std::string op;      ///< glob on the name, with or without the overload
  std::string module;  ///< glob on the qualified module name

  bool matches(const Reader& trace, const Op& op) const;
};

}  // namespace ulpscope
