#include "diff/render/pair_json.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>
#include <unordered_map>

#include "diff/render/pair_facts.h"
#include "diff/render/phrases.h"

namespace ulpscope {
namespace {

using Json = nlohmann::ordered_json;

class Strings {
 public:
  int32_t intern(const std::string& text) {
    if (text.empty()) return -1;
    const auto [at, added] = ids_.try_emplace(text, int32_t(texts_.size()));
    if (added) texts_.push_back(text);
    return at->second;
  }
  Json json() { return Json(std::move(texts_)); }

 private:
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<std::string> texts_;
};

struct SideColumns {
  std::vector<int32_t> op;
  std::vector<int64_t> id;
  Json more = Json::object();  ///< by pair, where it is not 0

  void add(size_t pair, const PairSide& side, Strings& strings) {
    op.push_back(strings.intern(side.op));
    id.push_back(side.id.value);
    if (side.more > 0) more[std::to_string(pair)] = side.more;
  }
  Json json() { return {{"op", std::move(op)}, {"id", std::move(id)}, {"more", std::move(more)}}; }
};

/// Three significant digits: a list shows two.
Json rounded(float value) {
  if (std::isinf(value)) return "inf";
  if (std::isnan(value)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", double(value));
  return std::atof(text);
}

}  // namespace

void writePairJson(const DiffResult& result, std::ostream& out) {
  const PairFactsReader reader(result);
  Strings strings;
  SideColumns a, b;
  std::vector<int32_t> module, line, operand, step;
  std::string label, phase;
  Json pairs = Json::array(), difference = Json::array(), error = Json::array(),
       inherited = Json::array(), ulp = Json::array(), starts = Json::array();
  for (size_t i = 0; i < result.pairs.size(); ++i) {
    const Pair& pair = result.pairs[i];
    const PairFacts facts = reader.read(i);
    a.add(i, facts.a, strings);
    b.add(i, facts.b, strings);
    module.push_back(strings.intern(facts.module));
    line.push_back(strings.intern(facts.line));
    operand.push_back(strings.intern(facts.operand));
    step.push_back(facts.step);
    label += char('0' + int(pair.label));
    phase += char('0' + int(facts.phase));
    if (pair.label == Label::identical) continue;
    pairs.push_back(i);
    difference.push_back(pair.difference == Difference::none ? "" : phrase(pair.difference));
    error.push_back(rounded(pair.error));
    inherited.push_back(rounded(pair.inherited));
    ulp.push_back(rounded(pair.ulp));
  }
  for (const Origin& origin : result.frontier) {
    if (origin.pair >= 0) starts.push_back(origin.pair);
  }

  Json labels = Json::array(), phases = Json::array(), phrases = Json::object();
  for (int each = 0; each <= int(Label::opaque); ++each) {
    labels.push_back(name(Label(each)));
    phrases[std::string(name(Label(each)))] = phrase(Label(each));
  }
  for (int each = 0; each <= int(Phase::optimizer); ++each) phases.push_back(name(Phase(each)));

  const Json document = {
      {"count", result.pairs.size()}, {"labels", labels}, {"phases", phases}, {"phrases", phrases},
      {"label", label}, {"phase", phase}, {"a", a.json()}, {"b", b.json()},
      {"module", module}, {"line", line}, {"operand", operand}, {"step", step},
      {"differing", {{"pair", pairs}, {"difference", difference}, {"error", error},
                     {"inherited", inherited}, {"ulp", ulp}}},
      {"starts", starts}, {"strings", strings.json()}};
  // ASCII with "<" escaped: neither "</script>" nor "<!--" can come of it.
  std::string text = document.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");
    at += 6;
  }
  out << text;
}

}  // namespace ulpscope
