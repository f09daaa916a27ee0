#pragma once

#include <string_view>

namespace ulpscope {

/// Shell-like match of a whole name: `*` any characters, `?` one. Never fails.
bool globMatches(std::string_view pattern, std::string_view name);

}  // namespace ulpscope
