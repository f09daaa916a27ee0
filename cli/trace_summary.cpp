#include "cli/trace_summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "diff/render/format.h"

namespace ulpscope {

std::string coverageSummary(const Coverage& coverage) {
  if (coverage.hashed == coverage.tensors) {
    return fmt::format("all {} hashed", counted(int64_t(coverage.tensors), "tensor"));
  }
  std::string text = fmt::format("{} of {} hashed", grouped(int64_t(coverage.hashed)),
                                 counted(int64_t(coverage.tensors), "tensor"));
  std::string reasons;
  for (const auto& [reason, count] : coverage.skipped) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", reason, grouped(int64_t(count)));
  }
  return reasons.empty() ? text : fmt::format("{} (skipped: {})", text, reasons);
}

std::string traceSummary(const Reader& trace) {
  const Coverage coverage = trace.coverage();
  std::string text = counted(int64_t(coverage.ops), "op");
  if (coverage.kernels > 0) {
    text += fmt::format(" and {}", counted(int64_t(coverage.kernels), "compiled kernel"));
  }
  text += fmt::format(" in {}; {}; closure {}", counted(int64_t(trace.steps().size()), "step"),
                      coverageSummary(coverage), percent(coverage.closure()));
  if (!trace.complete()) text += "; cut short: the program did not end cleanly";
  return text;
}

std::string commandLine(const Reader& trace) {
  const std::string stored = trace.meta("command");  // a JSON array of the arguments
  const auto arguments = nlohmann::json::parse(stored, nullptr, false);
  if (!arguments.is_array()) return stored;
  std::string line;
  for (const auto& argument : arguments) {
    if (argument.is_string()) line += (line.empty() ? "" : " ") + shellQuoted(argument.get<std::string>());
  }
  return line;
}

}  // namespace ulpscope
