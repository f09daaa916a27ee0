#include "cli/op_filter.h"

#include <fnmatch.h>

namespace ulpscope {

bool OpFilter::matches(const Reader& trace, const Op& candidate) const {
  const auto fits = [](const std::string& glob, const std::string& text) {
    return fnmatch(glob.c_str(), text.c_str(), 0) == 0;
  };
  if (step && candidate.step != *step) return false;
  if (!op.empty()) {
    const Schema& schema = trace.schema(candidate.schema);
    if (!fits(op, schema.name) && !fits(op, schema.qualified())) return false;
  }
  return module.empty() || fits(module, trace.module(candidate).first);
}

}  // namespace ulpscope
