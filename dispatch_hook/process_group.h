#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>

namespace ulpscope {

/// A process group as "NAME: ranks 0-3,6": the name by which all members know it, and its members'
/// global ranks; or a reduction as "sum", "avg", ...; none for any other value. Never throws.
std::optional<std::string> describeDistributed(const c10::IValue& value) noexcept;

/// The same of a group that is known by its name alone (functional collectives); the name itself
/// where no such group is registered. Never throws.
std::string describeGroup(const std::string& name) noexcept;

}  // namespace ulpscope
