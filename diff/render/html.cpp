#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "diff/render/error_plot.h"
#include "diff/render/escape.h"
#include "diff/render/format.h"
#include "diff/render/pair_facts.h"
#include "diff/render/pair_json.h"
#include "diff/render/phrases.h"
#include "diff/render/render.h"
#include "diff/render/report_assets.h"

namespace ulpscope {
namespace {

constexpr size_t kFrontierShown = 200;
constexpr size_t kAround = 10;  ///< pairs shown on each side of the first divergence

/// Writes the page from top to bottom. One object a page; it only borrows.
class Page {
 public:
  Page(const DiffResult& result, std::ostream& out) : result_(result), out_(out), facts_(result) {}

  void write() {
    fmt::print(out_,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
               xmlEscaped(verdictText(result_)), kReportStyle);
    answer();
    dominant();
    frontier();
    around();
    growth();
    list();
    environment();
    coverage();
    notes();
    fmt::print(out_, "<footer>Written by ulpscope. This file needs no network.</footer>\n");
    fmt::print(out_, "<script type=\"application/json\" id=\"pairs\">\n");
    writePairJson(result_, out_);
    fmt::print(out_, "\n</script>\n<script>\n{}</script>\n</body>\n</html>\n", kReportScript);
  }

 private:
  void fact(std::string_view title, std::string_view text) {
    if (!text.empty()) fmt::print(out_, "<dt>{}</dt><dd>{}</dd>\n", title, xmlEscaped(text));
  }

  void answer() {
    fmt::print(out_, "<span class=\"badge {0}\">{1}</span>\n", name(result_.verdict),
               verdictWord(result_.verdict));
    const bool differs =
        result_.verdict == Verdict::numeric || result_.verdict == Verdict::structural;
    if (differs && result_.first) {
      const Headline line = headline(result_, *result_.first);
      fmt::print(out_, "<h1>{}{}<span class=\"op\">{}</span>{}</h1>\n", xmlEscaped(line.title),
                 xmlEscaped(line.lead), xmlEscaped(line.op), xmlEscaped(line.rest));
    } else {
      fmt::print(out_, "<h1>{}</h1>\n", xmlEscaped(verdictText(result_)));
    }
    fmt::print(out_, "<p class=\"paths\">A <code>{}</code> &nbsp; B <code>{}</code></p>\n",
               xmlEscaped(result_.a.path), xmlEscaped(result_.b.path));
    if (result_.first) evidence(*result_.first);
  }

  static std::string_view verdictWord(Verdict verdict) {
    switch (verdict) {
      case Verdict::identical: return "identical";
      case Verdict::withinTolerance: return "within tolerance";
      case Verdict::numeric: return "numbers differ";
      case Verdict::structural: return "structure differs";
      case Verdict::notComparable: return "not comparable";
    }
    return "";
  }

  void evidence(const Origin& origin) {
    fmt::print(out_, "<dl class=\"facts\">\n");
    fact("where", whereText(origin));
    fact("in A", sideText(result_, origin, origin.a));
    fact("in B", sideText(result_, origin, origin.b));
    if (origin.inputs > 0) {
      fact("inputs", fmt::format("{} of {} identical", origin.inputsIdentical, origin.inputs));
    }
    fact(origin.operandRole == Role::input ? "input" : "output", sizeText(origin));
    fact("why", origin.explanation);
    fact("sure", fmt::format("{:.2f}: {}", origin.confidence, phrase(origin.alignment)));
    fact("ops", idsText(origin));
    const bool same = origin.a && origin.b && origin.a->stack == origin.b->stack;
    stack(same ? "stack" : "stack in A", origin.a);
    if (!same) stack("stack in B", origin.b);
    fmt::print(out_, "</dl>\n");
  }

  void stack(std::string_view title, const std::optional<OriginSide>& side) {
    if (!side || side->stack.empty()) return;
    std::string text;
    for (const Frame& frame : side->stack) {
      text += fmt::format("{}<code>{}:{}</code> {}", text.empty() ? "" : "<br>",
                          xmlEscaped(frame.file), frame.line, xmlEscaped(frame.function));
    }
    fmt::print(out_, "<dt>{}</dt><dd>{}</dd>\n", title, text);
  }

  void dominant() {
    if (!result_.dominant) return;
    const Origin& origin = *result_.dominant;
    if (result_.first && isSame(*result_.first, origin)) {
      if (result_.frontier.size() > 1 && std::isfinite(origin.share)) {
        fmt::print(out_, "<p>It is also the dominant origin: it adds {} of the final error.</p>\n",
                   xmlEscaped(percent(origin.share)));
      }
      return;
    }
    fmt::print(out_, "<p><b>Dominant:</b> <span class=\"op\">{}</span> in {}",
               xmlEscaped(origin.op), xmlEscaped(whereText(origin)));
    if (std::isfinite(origin.share)) {
      fmt::print(out_, ": adds {} of the final error", xmlEscaped(percent(origin.share)));
    }
    fmt::print(out_, ".</p>\n");
  }

  void frontier() {
    if (result_.frontier.size() < 2) return;
    fmt::print(out_, "<h2>What starts on its own</h2>\n<table id=\"frontier\">\n<tr><th>op</th><th>where"
                     "</th><th>difference</th><th>operand</th><th class=\"number\">of final error</th></tr>\n");
    for (size_t i = 0; i < std::min(result_.frontier.size(), kFrontierShown); ++i) {
      const Origin& origin = result_.frontier[i];
      const bool first = result_.first && isSame(*result_.first, origin);
      fmt::print(out_,
                 "<tr{}><td><a class=\"op\" href=\"#row={}\">{}</a></td><td>{}</td>"
                 "<td class=\"label {}\">{}{}</td><td>{}</td><td class=\"number\">{}</td></tr>\n",
                 first ? " class=\"chosen\"" : "", origin.pair, xmlEscaped(origin.op),
                 xmlEscaped(whereText(origin)), name(origin.label),
                 xmlEscaped(phrase(origin.difference)), origin.expected ? ", expected" : "",
                 xmlEscaped(sizeText(origin)),
                 std::isfinite(origin.share) ? xmlEscaped(percent(origin.share)) : "");
    }
    fmt::print(out_, "</table>\n");
    if (result_.frontier.size() > kFrontierShown) {
      fmt::print(out_, "<p class=\"dim\">{} more are in the list below.</p>\n",
                 grouped(int64_t(result_.frontier.size() - kFrontierShown)));
    }
  }

  static std::string sideCell(const PairSide& side) {
    if (!side.id) return "<span class=\"dim\">no partner</span>";
    std::string text = xmlEscaped(side.op);
    if (side.more > 0) text += fmt::format(" <span class=\"dim\">+{}</span>", side.more);
    return fmt::format("{} <span class=\"dim\">#{}</span>", text, side.id.value);
  }

  void around() {
    if (!result_.first || result_.first->pair < 0) return;
    const size_t chosen = size_t(result_.first->pair);
    const size_t begin = chosen > kAround ? chosen - kAround : 0;
    const size_t end = std::min(result_.pairs.size(), chosen + kAround + 1);
    fmt::print(out_, "<h2>The aligned ops around it</h2>\n<table id=\"around\" class=\"mono\">\n<tr><th>A</th>"
                     "<th>B</th><th>module</th><th>operand</th><th>label</th>"
                     "<th class=\"number\">relative error</th></tr>\n");
    for (size_t i = begin; i < end; ++i) {
      const Pair& pair = result_.pairs[i];
      const PairFacts facts = facts_.read(i);
      fmt::print(out_,
                 "<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"label {}\">{}</td>"
                 "<td class=\"number\">{}</td></tr>\n",
                 i == chosen ? " class=\"chosen\"" : "", sideCell(facts.a), sideCell(facts.b),
                 xmlEscaped(facts.module), xmlEscaped(facts.operand), name(pair.label),
                 phrase(pair.label), std::isnan(pair.error) || pair.error == 0
                                         ? "" : xmlEscaped(magnitude(pair.error)));
    }
    fmt::print(out_, "</table>\n");
  }

  void growth() {
    const std::string plot = errorPlot(result_);
    if (!plot.empty()) {
      fmt::print(out_, "<h2>Error over the run <span class=\"dim\">(relative, log scale)</span></h2>\n{}",
                 plot);
    }
  }

  void list() {
    fmt::print(out_,
               "<h2 id=\"list\">All aligned ops</h2>\n"
               "<div class=\"controls\"><input id=\"search\" type=\"search\" placeholder=\"op, module, file, "
               "type, #id\" aria-label=\"search\">"
               "<label><input id=\"differing\" type=\"checkbox\"> only differing</label>"
               "<select id=\"kind\" aria-label=\"label\"><option value=\"\">every label</option></select>"
               "<button id=\"previous\" title=\"p\">&lsaquo; start</button>"
               "<button id=\"next\" title=\"n\">start &rsaquo;</button><span id=\"count\" class=\"dim\">"
               "</span></div>\n<div class=\"ops\"><div id=\"view\" class=\"view\" tabindex=\"0\" aria-label=\"pairs\">"
               "<div class=\"head\"><span>row</span><span>step</span>"
               "<span>A</span><span>B</span><span>module</span><span>label</span><span class=\"number\">"
               "error</span><span class=\"number\">ulp</span></div>"
               "<div id=\"spacer\" class=\"spacer\"></div></div><div id=\"detail\" class=\"detail dim\">Choose a row; n and p go to the next "
               "and the previous start of a difference.</div></div>\n"
               "<noscript><p>The list needs JavaScript; all above and below does not.</p></noscript>\n");
  }

  void environment() {
    fmt::print(out_, "<h2>Environment</h2>\n");
    if (result_.environment.empty()) {
      fmt::print(out_, "<p>No setting differs.</p>\n");
      return;
    }
    fmt::print(out_, "<table id=\"environment\">\n<tr><th>setting</th><th>A</th><th>B</th></tr>\n");
    const auto shown = [](const std::string& value) {
      return value.empty() ? std::string("<span class=\"dim\">not set</span>")
                           : "<code>" + xmlEscaped(value) + "</code>";
    };
    for (const EnvironmentDifference& each : result_.environment) {
      fmt::print(out_, "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>\n",
                 xmlEscaped(each.key), shown(each.a), shown(each.b));
    }
    fmt::print(out_, "</table>\n");
  }

  void coverage() {
    fmt::print(out_, "<h2>Coverage</h2>\n<dl class=\"facts\">\n");
    fact("aligned", alignedText(result_));
    fact("A", coverageText(result_.a));
    fact("B", coverageText(result_.b));
    fact("pairs", countsText(result_));
    fmt::print(out_, "</dl>\n");
  }

  void notes() {
    if (result_.notes.empty()) return;
    fmt::print(out_, "<h2>Notes</h2>\n<ul class=\"notes\">\n");
    for (const std::string& note : result_.notes) fmt::print(out_, "<li>{}</li>\n", xmlEscaped(note));
    fmt::print(out_, "</ul>\n");
  }

  const DiffResult& result_;
  std::ostream& out_;
  const PairFactsReader facts_;
};

}  // namespace

void renderHtml(const DiffResult& result, std::ostream& out) { Page(result, out).write(); }

}  // namespace ulpscope
