#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "diff/render/escape.h"
#include "diff/render/phrases.h"
#include "diff/render/render.h"

namespace ulpscope {
namespace {

/// Past this many the rest is counted: CI servers show each case on a line.
constexpr size_t kCases = 100;

std::string details(const DiffResult& result, const Origin& origin) {
  std::string text;
  const auto line = [&](std::string_view title, std::string_view value) {
    if (!value.empty()) text += fmt::format("{:<8} {}\n", title, value);
  };
  line("where", whereText(origin));
  line("in A", sideText(result, origin, origin.a));
  line("in B", sideText(result, origin, origin.b));
  if (origin.inputs > 0) {
    line("inputs", fmt::format("{} of {} identical", origin.inputsIdentical, origin.inputs));
  }
  line("operand", sizeText(origin));
  line("why", origin.explanation);
  line("sure", fmt::format("{:.2f}: {}", origin.confidence, phrase(origin.alignment)));
  line("ops", idsText(origin));
  return text;
}

void failure(std::ostream& out, const DiffResult& result, const Origin& origin) {
  const std::string name = fmt::format("{}: {}", whereText(origin), origin.op);
  fmt::print(out, "    <testcase classname=\"ulpscope.{}\" name=\"{}\">\n", ulpscope::name(origin.phase),
             xmlEscaped(name));
  fmt::print(out, "      <failure type=\"{}\" message=\"{}\">{}</failure>\n", ulpscope::name(origin.difference),
             xmlEscaped(headline(result, origin).whole()), xmlEscaped(details(result, origin)));
  fmt::print(out, "    </testcase>\n");
}

}  // namespace

void renderJUnit(const DiffResult& result, std::ostream& out) {
  const bool comparable = result.verdict != Verdict::notComparable;
  const bool differs =
      result.verdict == Verdict::numeric || result.verdict == Verdict::structural;
  const size_t failures = !differs ? 0 : std::min(std::max<size_t>(result.frontier.size(), 1), kCases);
  const size_t tests = differs ? failures : 1;

  fmt::print(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  fmt::print(out, "<testsuites tests=\"{0}\" failures=\"{1}\" errors=\"{2}\">\n", tests, failures,
             comparable ? 0 : 1);
  fmt::print(out,
             "  <testsuite name=\"ulpscope\" tests=\"{0}\" failures=\"{1}\" errors=\"{2}\" "
             "skipped=\"0\">\n",
             tests, failures, comparable ? 0 : 1);
  fmt::print(out, "    <properties>\n");
  const auto property = [&](std::string_view key, std::string_view value) {
    fmt::print(out, "      <property name=\"{}\" value=\"{}\"/>\n", xmlEscaped(key), xmlEscaped(value));
  };
  property("verdict", name(result.verdict));
  property("a", result.a.path);
  property("b", result.b.path);
  for (const EnvironmentDifference& each : result.environment) {
    property("environment." + each.key, fmt::format("{} | {}", each.a, each.b));
  }
  fmt::print(out, "    </properties>\n");

  const std::string title = fmt::format("{} and {} agree", result.a.path, result.b.path);
  if (!differs) {
    fmt::print(out, "    <testcase classname=\"ulpscope.diff\" name=\"{}\"", xmlEscaped(title));
    if (comparable) {
      fmt::print(out, "/>\n");
    } else {
      fmt::print(out, ">\n      <error type=\"not_comparable\" message=\"{}\"/>\n    </testcase>\n",
                 xmlEscaped(verdictText(result)));
    }
  } else if (result.frontier.empty()) {
    fmt::print(out,
               "    <testcase classname=\"ulpscope.diff\" name=\"{}\">\n"
               "      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
               xmlEscaped(title), name(result.verdict), xmlEscaped(verdictText(result)));
  } else {
    for (size_t i = 0; i < failures; ++i) failure(out, result, result.frontier[i]);
  }
  std::string rest = fmt::format("{}\n", verdictText(result));
  if (result.frontier.size() > kCases) {
    rest += fmt::format("{} more origins are not listed.\n", result.frontier.size() - kCases);
  }
  for (const std::string& note : result.notes) rest += note + "\n";
  fmt::print(out, "    <system-out>{}</system-out>\n", xmlEscaped(rest));
  fmt::print(out, "  </testsuite>\n</testsuites>\n");
}

}  // namespace ulpscope
