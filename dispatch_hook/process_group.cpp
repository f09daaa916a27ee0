#include "dispatch_hook/process_group.h"

#include <array>
#include <string_view>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

namespace ulpscope {
namespace {

constexpr std::array<std::string_view, 9> kReductions{"sum",  "avg", "product", "min",       "max",
                                                      "band", "bor", "bxor",    "premul_sum"};

/// {0, 1, 2, 5} -> "0-2,5".
std::string ranges(const std::vector<uint64_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string textOf(const c10d::ProcessGroup& group) {
  std::vector<uint64_t> ranks;
  try {
    ranks = group.getDefaultBackend()->getBackendOptions()->global_ranks_in_group;
  } catch (...) {  // a backend without options
  }
  const std::string& name = group.getGroupName();
  if (ranks.empty() && (name.empty() || name == "0")) {  // the default group: all ranks
    for (int rank = 0; rank < group.getSize(); ++rank) ranks.push_back(uint64_t(rank));
  }
  if (ranks.empty()) return name + ": " + std::to_string(group.getSize()) + " ranks";
  return name + ": ranks " + ranges(ranks);
}

}  // namespace

std::optional<std::string> describeDistributed(const c10::IValue& value) noexcept {
  try {
    if (!value.isObject()) return std::nullopt;
    const auto type = value.toObjectRef().type();
    if (!type || !type->name()) return std::nullopt;
    const std::string& name = type->name()->qualifiedName();
    if (name == "__torch__.torch.classes.c10d.ProcessGroup") {
      return textOf(*value.toCustomClass<c10d::ProcessGroup>());
    }
    if (name == "__torch__.torch.classes.c10d.ReduceOp") {
      const size_t op = size_t(value.toCustomClass<c10d::ReduceOp>()->op_);
      return op < kReductions.size() ? std::string(kReductions[op]) : "unknown";
    }
  } catch (...) {
  }
  return std::nullopt;
}

std::string describeGroup(const std::string& name) noexcept {
  try {
    return textOf(*c10d::resolve_process_group(name));
  } catch (...) {
    return name;
  }
}

}  // namespace ulpscope
