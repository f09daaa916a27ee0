#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "diff/render/render.h"

namespace ulpscope {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string_view operandRole(Role role) {
  switch (role) {
    case Role::input: return "input";
    case Role::output: return "output";
    case Role::before: return "before";
    case Role::after: return "after";
  }
  return "output";
}

Json side(const Side& side) {
  return {{"path", side.path},
          {"ops", side.ops.ops.size()},
          {"kernels", side.kernels},
          {"complete", side.complete}};
}

Json coverage(const Coverage& coverage) {
  Json skipped = Json::object();
  for (const auto& [reason, count] : coverage.skipped) skipped[reason] = count;
  return {{"tensors", coverage.tensors},
          {"hashed", coverage.hashed},
          {"skipped", std::move(skipped)},
          {"closure", number(coverage.closure())}};
}

Json originSide(const std::optional<OriginSide>& side) {
  if (!side) return nullptr;
  Json stack = Json::array();
  for (const Frame& frame : side->stack) {
    stack.push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}});
  }
  return {{"id", side->id.value},
          {"op", side->op},
          {"kernel", side->kernel.empty() ? Json(nullptr) : Json(side->kernel)},
          {"stack", std::move(stack)}};
}

Json origin(const Origin& origin) {
  return {{"label", name(origin.label)},
          {"op", origin.op},
          {"ops", origin.ops},
          {"step", origin.step},
          {"phase", name(origin.phase)},
          {"module", origin.module},
          {"rank", origin.rank},
          {"a", originSide(origin.a)},
          {"b", originSide(origin.b)},
          {"operand",
           {{"role", operandRole(origin.operandRole)},
            {"index", origin.operandIndex},
            {"dtype", info(origin.operandDType).name},
            {"shape", origin.operandShape}}},
          {"difference", name(origin.difference)},
          {"relative_error", number(origin.relativeError)},
          {"ulp", number(origin.ulp)},
          {"confidence", number(origin.confidence)},
          {"alignment", name(origin.alignment)},
          {"explanation", origin.explanation}};
}

Json optionalOrigin(const std::optional<Origin>& value) {
  return value ? origin(*value) : Json(nullptr);
}

}  // namespace

void renderJson(const DiffResult& result, std::ostream& out) {
  Json environment = Json::array();
  for (const EnvironmentDifference& difference : result.environment) {
    environment.push_back({{"key", difference.key}, {"a", difference.a}, {"b", difference.b}});
  }
  Json frontier = Json::array();
  for (const Origin& each : result.frontier) frontier.push_back(origin(each));
  const Counts& counts = result.counts;

  const Json document = {{"schema", "ulpscope.diff/1"},
                         {"a", side(result.a)},
                         {"b", side(result.b)},
                         {"environment", std::move(environment)},
                         {"verdict", name(result.verdict)},
                         {"first", optionalOrigin(result.first)},
                         {"dominant", optionalOrigin(result.dominant)},
                         {"frontier", std::move(frontier)},
                         {"counts",
                          {{"pairs", counts.pairs},
                           {"identical", counts.identical},
                           {"within", counts.within},
                           {"origin", counts.origin},
                           {"propagated", counts.propagated},
                           {"healed", counts.healed},
                           {"structural", counts.structural},
                           {"source", counts.source},
                           {"opaque", counts.opaque}}},
                         {"coverage",
                          {{"a", coverage(result.a.coverage)}, {"b", coverage(result.b.coverage)}}}};
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace ulpscope
