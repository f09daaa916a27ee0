#include "diff/allowance.h"

#include <cmath>
#include <filesystem>
#include <fnmatch.h>
#include <toml++/toml.h>

#include "store/error.h"

namespace ulpscope {
namespace {

constexpr float kNoiseMargin = 3;  // times the largest difference between two runs of A

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw TraceError(TraceError::Code::corrupt,
                   path + ": " + why + "; docs/alignment.md describes the file of rules");
}

ToleranceRule readRule(const std::string& path, const toml::table& entry) {
  ToleranceRule rule;
  for (const auto& [key, value] : entry) {
    const std::string name(key.str());
    const auto text = [&](std::string& out) {
      const auto given = value.value<std::string>();
      if (!given) fail(path, "'" + name + "' of a [[rule]] is text");
      out = *given;
    };
    const auto amount = [&](double& out) {
      const auto given = value.value<double>();
      if (!given || !(*given >= 0)) fail(path, "'" + name + "' of a [[rule]] is a number, 0 or more");
      out = *given;
    };
    if (name == "op") text(rule.op);
    else if (name == "module") text(rule.module);
    else if (name == "phase") text(rule.phase);
    else if (name == "dtype") text(rule.dtype);
    else if (name == "rtol") amount(rule.tolerance.rtol);
    else if (name == "atol") amount(rule.tolerance.atol);
    else if (name == "ulp") amount(rule.tolerance.ulp);
    else fail(path, "'" + name + "' is not one of op, module, phase, dtype, rtol, atol, ulp");
  }
  return rule;
}

bool matches(const std::string& pattern, const std::string& text) {
  return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

std::vector<ToleranceRule> readRules(const std::string& path) {
  std::vector<ToleranceRule> rules;
  if (path.empty()) return rules;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw TraceError(TraceError::Code::missing, path + ": no such file of rules; check the path");
  }
  toml::table file;
  try {
    file = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    fail(path, "line " + std::to_string(error.source().begin.line) + ": " +
                   std::string(error.description()));
  }
  for (const auto& [key, value] : file) {
    if (key != "rule" || value.as_array() == nullptr) {
      fail(path, "'" + std::string(key.str()) + "' is not written [[rule]]");
    }
    for (const toml::node& item : *value.as_array()) {
      const toml::table* entry = item.as_table();
      if (entry == nullptr) fail(path, "'rule' must be written [[rule]]");
      rules.push_back(readRule(path, *entry));
    }
  }
  return rules;
}

Allowance::Allowance(const AlignedSide& a, const Tolerance& tolerance,
                     std::vector<ToleranceRule> rules, std::vector<float> noise)
    : a_(a), tolerance_(tolerance), rules_(std::move(rules)), noise_(std::move(noise)) {}

const Tolerance& Allowance::toleranceOf(uint32_t operandA, uint32_t op) const {
  if (rules_.empty()) return tolerance_;
  const Op& own = a_.index.ops()[op];
  const std::string& schema = a_.index.schema(own).name;
  for (const ToleranceRule& rule : rules_) {
    const bool named = rule.op.empty() || matches(rule.op, schema) || matches(rule.op, baseName(schema));
    if (named && matches(rule.module, a_.index.module(op).first) &&
        matches(rule.phase, std::string(name(own.phase))) &&
        (rule.dtype.empty() ||
         matches(rule.dtype, std::string(info(a_.index.reader()
                                                  .type(a_.index.operands()[operandA].type)
                                                  .dtype).name)))) {
      return rule.tolerance;
    }
  }
  return tolerance_;
}

bool Allowance::accepts(uint32_t operandA, uint32_t op, const Compared& compared) const {
  if (isWithin(compared, toleranceOf(operandA, op))) return true;
  if (operandA >= noise_.size() || compared.nonFinite) return false;
  const float noise = noise_[operandA];
  return noise > 0 && (std::isnan(compared.relative) || compared.relative <= kNoiseMargin * noise);
}

}  // namespace ulpscope
