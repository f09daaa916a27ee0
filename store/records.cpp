#include "store/records.h"

namespace ulpscope {

std::string_view name(SkipReason reason) {
  switch (reason) {
    case SkipReason::none:
      return "none";
    case SkipReason::option:
      return "option";
    case SkipReason::fake:
      return "fake";
    case SkipReason::wrapper:
      return "wrapper";
    case SkipReason::device:
      return "device";
    case SkipReason::layout:
      return "layout";
    case SkipReason::pending:
      return "pending";
    case SkipReason::uninitialised:
      return "uninitialised";
    case SkipReason::storage:
      return "storage";
    case SkipReason::failed:
      return "failed";
    case SkipReason::trusted:
      return "trusted";
  }
  return "unknown";
}

std::string Schema::qualified() const {
  return overload.empty() ? name : name + "." + overload;
}

double Coverage::closure() const {
  const uint64_t judged = closureMatched + closureBroken;
  return judged == 0 ? 1.0 : static_cast<double>(closureMatched) / static_cast<double>(judged);
}

}  // namespace ulpscope
