#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

#include "diff/render/format.h"
#include "diff/render/phrases.h"
#include "diff/render/render.h"

namespace ulpscope {
namespace {

constexpr size_t kFrontierShown = 5;
constexpr int kSettingsOfAPart = 4;  // and more: told as one
constexpr size_t kEnvironmentShown = 8;

/// Prints the parts of the answer. One object a rendering; it only borrows.
class TextRenderer {
 public:
  TextRenderer(const DiffResult& result, std::ostream& out, const TextOptions& options)
      : result_(result), out_(out), options_(options), paint_{options.colour} {}

  void render() {
    answer();
    if (result_.first) evidence(*result_.first);
    dominant();
    frontier();
    summary();
    environment();
    row("aligned", alignedText(result_));
    coverage();
    for (const std::string& note : result_.notes) row("note", note);
    next();
  }

 private:
  void row(std::string_view title, std::string_view text) {
    if (!text.empty()) fmt::print(out_, "{}  {}\n", paint_.dim(fmt::format("{:<11}", title)), text);
  }
  void detail(std::string_view title, std::string_view text) {
    if (!text.empty()) fmt::print(out_, "  {} {}\n", paint_.dim(fmt::format("{:<10}", title)), text);
  }

  void answer() {
    const bool differs =
        result_.verdict == Verdict::numeric || result_.verdict == Verdict::structural;
    if (differs && result_.first) {
      fmt::print(out_, "{}\n", headline(*result_.first));
      return;
    }
    const std::string text = verdictText(result_);
    const size_t colon = std::min(text.find(':'), text.size() - 1);
    const std::string title = text.substr(0, colon + 1);
    const bool agrees =
        result_.verdict == Verdict::identical || result_.verdict == Verdict::withinTolerance;
    fmt::print(out_, "{}{}.\n", agrees ? paint_.good(title) : paint_.warning(title),
               text.substr(colon + 1));
    if (agrees && result_.first) fmt::print(out_, "\n{}\n", headline(*result_.first));
  }

  std::string headline(const Origin& origin) const {
    const Headline line = ulpscope::headline(result_, origin);
    return (origin.expected ? paint_.warning(line.title) : paint_.bad(line.title)) + line.lead +
           paint_.name(line.op) + line.rest;
  }

  void evidence(const Origin& origin) {
    detail("where", whereText(origin));
    detail("in A", sideText(result_, origin, origin.a));
    detail("in B", sideText(result_, origin, origin.b));
    if (origin.inputs > 0) {
      detail("inputs", fmt::format("{} of {} identical", origin.inputsIdentical, origin.inputs));
    }
    detail(origin.operandRole == Role::input ? "input" : "output", sizeText(origin));
    detail("why", origin.explanation);
    detail("sure", fmt::format("{:.2f}: {}", origin.confidence, phrase(origin.alignment)));
    detail("ops", idsText(origin));
  }

  void dominant() {
    if (!result_.dominant) return;
    const Origin& origin = *result_.dominant;
    if (result_.first && isSame(*result_.first, origin)) {
      if (result_.frontier.size() > 1 && std::isfinite(origin.share)) {
        fmt::print(out_, "\nIt is also the dominant origin: it adds {} of the final error.\n",
                   percent(origin.share));
      }
      return;
    }
    fmt::print(out_, "\n{} {} in {}", paint_.bold("Dominant:"), paint_.name(origin.op),
               whereText(origin));
    if (std::isfinite(origin.share)) {
      fmt::print(out_, ": adds {} of the final error", percent(origin.share));
    } else if (!std::isnan(origin.relativeError)) {
      fmt::print(out_, ": {}", sizeText(origin));
    }
    fmt::print(out_, ".\n");
  }

  void frontier() {
    std::vector<const Origin*> others;
    for (const Origin& origin : result_.frontier) {
      if (!result_.first || !isSame(origin, *result_.first)) others.push_back(&origin);
    }
    if (others.empty()) return;
    fmt::print(out_, "\n{}\n", paint_.bold(others.size() == 1
                                               ? "One more starts on its own:"
                                               : fmt::format("{} more start on their own:",
                                                             grouped(int64_t(others.size())))));
    for (size_t i = 0; i < std::min(others.size(), kFrontierShown); ++i) {
      const Origin& origin = *others[i];
      std::string amount = sizeText(origin);
      if (origin.expected) amount += amount.empty() ? "expected" : ", expected";
      fmt::print(out_, "  {}  {}  {}  {}\n", paint_.name(origin.op), whereText(origin),
                 phrase(origin.difference), paint_.dim(amount));
    }
    if (others.size() > kFrontierShown) {
      fmt::print(out_, "  and {} more: --format=json lists them all\n",
                 grouped(int64_t(others.size() - kFrontierShown)));
    }
  }

  void summary() {
    const std::string parts = countsText(result_);
    if (!parts.empty()) fmt::print(out_, "\n{}.\n", parts);
    fmt::print(out_, "\n");
  }

  /// "inductor.* of B" for a setting that only one run has; "" for others.
  static std::string partOfOneRun(const EnvironmentDifference& difference) {
    const size_t dot = difference.key.find('.');
    if (dot == std::string::npos || difference.a.empty() == difference.b.empty()) return {};
    return difference.key.substr(0, dot) + (difference.a.empty() ? ".* of B" : ".* of A");
  }

  void environment() {
    const auto& differences = result_.environment;
    if (differences.empty()) {
      row("environment", "no setting differs");
      return;
    }
    const auto shown = [](const std::string& value) {
      if (value.empty()) return std::string("not set");
      return value.size() > 60 ? value.substr(0, 57) + "..." : value;
    };
    // The settings of a part of torch that only one run loaded are told as one, after the others.
    std::map<std::string, int> parts;
    for (const EnvironmentDifference& difference : differences) ++parts[partOfOneRun(difference)];
    std::vector<std::string> texts;
    for (const EnvironmentDifference& difference : differences) {
      const std::string part = partOfOneRun(difference);
      if (part.empty() || parts[part] < kSettingsOfAPart) {
        texts.push_back(fmt::format("{} ({} | {})", difference.key, shown(difference.a),
                                    shown(difference.b)));
      }
    }
    for (const auto& [part, count] : parts) {
      if (part.empty() || count < kSettingsOfAPart) continue;
      texts.push_back(fmt::format("{} settings {} alone", count, part));
    }
    std::string text = counted(int64_t(differences.size()), "setting") +
                       (differences.size() == 1 ? " differs: " : " differ: ");
    for (size_t i = 0; i < std::min(texts.size(), kEnvironmentShown); ++i) {
      text += (i == 0 ? "" : ", ") + texts[i];
    }
    if (texts.size() > kEnvironmentShown) {
      text += fmt::format(" and {} more", texts.size() - kEnvironmentShown);
    }
    row("environment", text);
  }

  void coverage() {
    const std::string a = coverageText(result_.a);
    const std::string b = coverageText(result_.b);
    if (a == b) {
      row("coverage", "A and B: " + a);
    } else {
      row("coverage", "A: " + a);
      row("", "B: " + b);
    }
  }

  void next() {
    if (!options_.more.empty()) fmt::print(out_, "\n{}", options_.more);
    if (!options_.next.empty()) {
      fmt::print(out_, "\n{} {}\n", paint_.dim("next:"), options_.next);
      return;
    }
    const std::string a =
        shellQuoted(options_.nameA.empty() ? result_.a.path : options_.nameA);
    const std::string b =
        shellQuoted(options_.nameB.empty() ? result_.b.path : options_.nameB);
    std::string command;
    if (result_.verdict == Verdict::notComparable) {
      command = fmt::format("ulpscope show {}", result_.a.complete ? b : a);
    } else if (result_.verdict == Verdict::identical) {
      command = fmt::format("ulpscope show {}", a);
    } else {
      command = fmt::format("ulpscope view {} {}", a, b);
    }
    fmt::print(out_, "\n{} {}\n", paint_.dim("next:"), command);
  }

  const DiffResult& result_;
  std::ostream& out_;
  const TextOptions& options_;
  const Paint paint_;
};

}  // namespace

void renderText(const DiffResult& result, std::ostream& out, const TextOptions& options) {
  TextRenderer(result, out, options).render();
}

}  // namespace ulpscope
