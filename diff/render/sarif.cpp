#include <nlohmann/json.hpp>
#include <ostream>

#include "diff/render/annotations.h"
#include "diff/render/phrases.h"
#include "diff/render/render.h"

namespace ulpscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kResults = 1000;

}  // namespace

void renderSarif(const DiffResult& result, std::ostream& out, const std::string& root) {
  Json results = Json::array();
  const bool differs =
      result.verdict == Verdict::numeric || result.verdict == Verdict::structural;
  for (size_t i = 0; differs && i < std::min(result.frontier.size(), kResults); ++i) {
    const Origin& origin = result.frontier[i];
    Json entry = {{"ruleId", name(origin.difference)},
                  {"level", annotationLevel(origin)},
                  {"message", {{"text", annotationMessage(result, origin)}}}};
    Json location = Json::object();
    if (const auto source = sourceBelow(origin, root)) {
      location["physicalLocation"] = {
          {"artifactLocation", {{"uri", source->file}, {"uriBaseId", "%SRCROOT%"}}},
          {"region", {{"startLine", source->line}}}};
    }
    location["logicalLocations"] = Json::array(
        {{{"name", origin.op}, {"fullyQualifiedName", whereText(origin)}, {"kind", "function"}}});
    entry["locations"] = Json::array({std::move(location)});
    results.push_back(std::move(entry));
  }
  Json rules = Json::array();
  for (int kind = int(Difference::bitwise); kind <= int(Difference::unknown); ++kind) {
    rules.push_back({{"id", name(Difference(kind))},
                     {"shortDescription", {{"text", phrase(Difference(kind))}}}});
  }
  const bool comparable = result.verdict != Verdict::notComparable;
  Json invocation = {{"executionSuccessful", comparable}};
  if (!comparable) {
    invocation["toolExecutionNotifications"] = Json::array(
        {{{"level", "error"}, {"message", {{"text", verdictText(result)}}}}});
  }
  Json run = {{"tool", {{"driver", {{"name", "ulpscope"}, {"rules", std::move(rules)}}}}},
              {"invocations", Json::array({std::move(invocation)})},
              {"originalUriBaseIds",
               {{"%SRCROOT%", {{"description", {{"text", "The root of the source."}}}}}}},
              {"results", std::move(results)}};
  const Json document = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({std::move(run)})}};
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace ulpscope
