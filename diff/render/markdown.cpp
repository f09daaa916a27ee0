#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "diff/render/escape.h"
#include "diff/render/format.h"
#include "diff/render/phrases.h"
#include "diff/render/render.h"

namespace ulpscope {
namespace {

constexpr size_t kFrontierShown = 20;
constexpr size_t kEnvironmentShown = 30;

std::string heading(const DiffResult& result) {
  const bool differs =
      result.verdict == Verdict::numeric || result.verdict == Verdict::structural;
  if (!differs || !result.first) return markdownEscaped(verdictText(result));
  const Headline line = headline(result, *result.first);
  return fmt::format("{}{}{}{}", markdownEscaped(line.title), markdownEscaped(line.lead),
                     markdownCode(line.op), markdownEscaped(line.rest));
}

void row(std::ostream& out, std::string_view title, std::string_view text) {
  if (!text.empty()) fmt::print(out, "| {} | {} |\n", title, markdownEscaped(text));
}

void evidence(std::ostream& out, const DiffResult& result, const Origin& origin) {
  fmt::print(out, "\n| | |\n|---|---|\n");
  row(out, "where", whereText(origin));
  row(out, "in A", sideText(result, origin, origin.a));
  row(out, "in B", sideText(result, origin, origin.b));
  if (origin.inputs > 0) {
    row(out, "inputs", fmt::format("{} of {} identical", origin.inputsIdentical, origin.inputs));
  }
  row(out, origin.operandRole == Role::input ? "input" : "output", sizeText(origin));
  row(out, "why", origin.explanation);
  row(out, "sure", fmt::format("{:.2f}: {}", origin.confidence, phrase(origin.alignment)));
  row(out, "ops", idsText(origin));
}

void others(std::ostream& out, const DiffResult& result) {
  std::vector<const Origin*> others;
  for (const Origin& origin : result.frontier) {
    if (!result.first || !isSame(origin, *result.first)) others.push_back(&origin);
  }
  if (others.empty()) return;
  fmt::print(out, "\n<details><summary>{}</summary>\n\n| op | where | difference | size |\n|---|---|---|---|\n",
             others.size() == 1 ? std::string("One more starts on its own")
                                : fmt::format("{} more start on their own", grouped(int64_t(others.size()))));
  for (size_t i = 0; i < std::min(others.size(), kFrontierShown); ++i) {
    const Origin& origin = *others[i];
    fmt::print(out, "| {} | {} | {}{} | {} |\n", markdownCode(origin.op),
               markdownEscaped(whereText(origin)), phrase(origin.difference),
               origin.expected ? ", expected" : "", markdownEscaped(sizeText(origin)));
  }
  if (others.size() > kFrontierShown) {
    fmt::print(out, "\n{} more are not shown.\n", grouped(int64_t(others.size() - kFrontierShown)));
  }
  fmt::print(out, "\n</details>\n");
}

void environment(std::ostream& out, const DiffResult& result) {
  const auto& differences = result.environment;
  if (differences.empty()) return;
  fmt::print(out, "\n<details><summary>{} in the environment</summary>\n\n| setting | A | B |\n|---|---|---|\n",
             counted(int64_t(differences.size()), "difference"));
  const auto shown = [](const std::string& value) {
    if (value.empty()) return std::string("not set");
    return markdownCode(value.size() > 100 ? value.substr(0, 97) + "..." : value);
  };
  for (size_t i = 0; i < std::min(differences.size(), kEnvironmentShown); ++i) {
    fmt::print(out, "| {} | {} | {} |\n", markdownCode(differences[i].key), shown(differences[i].a),
               shown(differences[i].b));
  }
  fmt::print(out, "\n</details>\n");
}

}  // namespace

void renderMarkdown(const DiffResult& result, std::ostream& out) {
  fmt::print(out, "### {}\n", heading(result));
  if (result.first) evidence(out, result, *result.first);
  if (result.dominant && (!result.first || !isSame(*result.dominant, *result.first))) {
    const Origin& origin = *result.dominant;
    fmt::print(out, "\n**Dominant:** {} in {}", markdownCode(origin.op),
               markdownEscaped(whereText(origin)));
    if (std::isfinite(origin.share)) {
      fmt::print(out, ": adds {} of the final error", percent(origin.share));
    }
    fmt::print(out, ".\n");
  }
  others(out, result);
  environment(out, result);
  const std::string counts = countsText(result);
  fmt::print(out, "\n{}aligned {}. Coverage of A: {}; of B: {}.\n", counts.empty() ? "" : counts + "; ",
             alignedText(result), markdownEscaped(coverageText(result.a)),
             markdownEscaped(coverageText(result.b)));
  for (const std::string& note : result.notes) fmt::print(out, "\n> {}\n", markdownEscaped(note));
}

}  // namespace ulpscope
