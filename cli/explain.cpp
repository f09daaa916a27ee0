#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/terminal.h"
#include "cli/verb.h"
#include "diff/account.h"
#include "diff/diff.h"
#include "diff/render/format.h"
#include "diff/render/phrases.h"

namespace ulpscope {
namespace {

struct ExplainFlags {
  std::string a;
  std::string b;
  std::string op;
  bool ofB = false;
  DiffOptions options;
};

constexpr size_t kPathShown = 8;

OpId parseOp(const std::string& given) {
  const std::string digits = given.starts_with('#') ? given.substr(1) : given;
  if (digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    throw CommandError(fmt::format("{} is no op; give its number as `ulpscope show` prints it", given));
  }
  return OpId{std::stoll(digits)};
}

class Explanation {
 public:
  Explanation(const DiffResult& result, int32_t pair, const Paint& paint)
      : result_(result), origin_(describe(result, pair)), account_(accountFor(result, pair)),
        paint_(paint) {}

  void print() const {
    fmt::print("{} {}\n", paint_.name(origin_.op), phrase(origin_.label));
    fmt::print("  {}\n  {}\n\n", whereText(origin_), idsText(origin_));
    section("paired", {account_.pairing});
    operands(true, "reads");
    operands(false, "writes");
    section(std::string(name(origin_.label)), account_.reasons);
    path();
    std::vector<std::string> sure{fmt::format("{:.2f}: {}.", origin_.confidence,
                                              phrase(origin_.alignment))};
    sure.insert(sure.end(), account_.doubts.begin(), account_.doubts.end());
    section("sure", sure);
  }

 private:
  void section(const std::string& title, const std::vector<std::string>& sentences) const {
    std::string heading = title;
    for (const std::string& sentence : sentences) {
      fmt::print("{:<12} {}\n", heading, sentence);
      heading.clear();
    }
  }

  void operands(bool read, const char* title) const {
    std::string heading = title;
    for (const PairAccount::OperandLine& line : account_.operands) {
      if (line.read != read) continue;
      const std::string finding = line.differs ? paint_.bad(line.finding) : line.finding;
      fmt::print("{:<12} {}  {}  {}{}\n", heading, line.name, paint_.dim(line.type), finding,
                 line.maker.empty() ? "" : "; from " + line.maker);
      heading.clear();
    }
  }

  void path() const {
    if (account_.path.size() < 2) return;
    std::string heading = "inherited";
    const auto print = [&](size_t k) {
      const Origin step = describe(result_, account_.path[k]);
      fmt::print("{:<12} {}  {}  {}\n", heading, step.op, paint_.dim(idsText(step)), phrase(step.label));
      heading.clear();
    };
    const size_t count = account_.path.size();
    for (size_t k = 0; k < std::min(count, kPathShown / 2); ++k) print(k);
    if (count > kPathShown) fmt::print("{:<12} ... {} more ...\n", "", count - kPathShown);
    for (size_t k = std::max(kPathShown / 2, count - std::min(count, kPathShown / 2)); k < count; ++k) print(k);
  }

  const DiffResult& result_;
  const Origin origin_;
  const PairAccount account_;
  const Paint paint_;
};

int explain(ExplainFlags& flags) {
  const OpId op = parseOp(flags.op);
  const DiffResult result = [&] {
    Progress bar("comparing");
    flags.options.progress = [&bar](double share) {
      bar.update(share);
      return true;
    };
    return diff(flags.a, flags.b, flags.options);
  }();
  const int32_t pair = pairOf(result, !flags.ofB, op);
  if (pair < 0) {
    throw CommandError(fmt::format("{} holds no op {}; `ulpscope show {}` lists its ops",
                                   flags.ofB ? flags.b : flags.a, op.value,
                                   shellQuoted(flags.ofB ? flags.b : flags.a)));
  }
  const Paint paint{colourOn(STDOUT_FILENO)};
  Explanation(result, pair, paint).print();
  const Origin origin = describe(result, pair);
  const bool isFirst = result.first && result.first->pair == pair;
  std::string next = fmt::format("view {} {}", shellQuoted(flags.a), shellQuoted(flags.b));
  if (result.first && !isFirst) {
    const bool ofB = !result.first->a;
    next = fmt::format("explain {} {} {}{}", shellQuoted(flags.a), shellQuoted(flags.b),
                       (ofB ? result.first->b : result.first->a)->id.value, ofB ? " --of-b" : "");
  }
  fmt::print("\n{} ulpscope {}\n", paint.dim("next:"), next);
  std::cout.flush();
  return 0;
}

}  // namespace

Action defineExplain(CLI::App& app) {
  auto flags = std::make_shared<ExplainFlags>();
  app.add_option("A", flags->a, "the reference trace")->required();
  app.add_option("B", flags->b, "the trace to judge")->required();
  app.add_option("OP", flags->op, "number of an op of A, as `show` and `diff` print it")->required();
  app.add_flag("--of-b", flags->ofB, "OP is an op of B");
  app.add_option("--rtol", flags->options.tolerance.rtol, "as for diff")->check(CLI::NonNegativeNumber);
  app.add_option("--atol", flags->options.tolerance.atol, "as for diff")->check(CLI::NonNegativeNumber);
  app.add_option("--ulp", flags->options.tolerance.ulp, "as for diff")->check(CLI::NonNegativeNumber);
  app.add_option("--rules", flags->options.rulesFile, "as for diff");
  app.add_option("--map", flags->options.mapFile, "as for diff");
  app.add_option("--noise", flags->options.noiseFile, "as for diff");
  return [flags](const Invocation&) { return explain(*flags); };
}

}  // namespace ulpscope
