#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "diff/render/format.h"
#include "diff/render/render.h"

namespace ulpscope {
namespace {

constexpr size_t kFrontierShown = 5;
constexpr size_t kEnvironmentShown = 8;
constexpr size_t kOpsShown = 6;

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
    row("aligned", aligned());
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

  /// "inductor::graph of B" where the origin is a compiled region whose inside was not seen.
  std::string compiledRegion(const Origin& origin) const {
    if (origin.pair < 0 || size_t(origin.pair) >= result_.pairs.size()) return {};
    const Pair& pair = result_.pairs[size_t(origin.pair)];
    const auto compiled = [](const Side& side, std::span<const uint32_t> members) {
      return std::any_of(members.begin(), members.end(), [&](uint32_t member) {
        return member < side.ops.ops.size() && side.ops.ops[member].kind == OpKind::compiled;
      });
    };
    const auto named = [&](const std::optional<OriginSide>& side, std::string_view letter) {
      return fmt::format("{} of {}", paint_.name(side ? side->op : origin.op), letter);
    };
    if (compiled(result_.b, result_.opsB(pair))) return named(origin.b, "B");
    if (compiled(result_.a, result_.opsA(pair))) return named(origin.a, "A");
    return {};
  }

  static std::string operandText(const Origin& origin) {
    switch (origin.operandRole) {
      case Role::input: return fmt::format("input {}", origin.operandIndex);
      case Role::before: return fmt::format("argument {} before the op", origin.operandIndex);
      case Role::after: return fmt::format("argument {} as written", origin.operandIndex);
      case Role::output: break;
    }
    return fmt::format("output {}", origin.operandIndex);
  }

  static std::string_view differenceText(Difference difference) {
    switch (difference) {
      case Difference::none: return "none";
      case Difference::bitwise: return "bits differ";
      case Difference::rounding: return "rounding";
      case Difference::numeric: return "numeric";
      case Difference::nanInf: return "NaN or infinity on one side";
      case Difference::dtype: return "another dtype";
      case Difference::shape: return "another shape";
      case Difference::stride: return "other strides";
      case Difference::alias: return "another aliasing";
      case Difference::scalar: return "another scalar argument";
      case Difference::random: return "random numbers of another stream";
      case Difference::missing: return "missing in B";
      case Difference::extra: return "extra in B";
      case Difference::unknown: return "unknown";
    }
    return "unknown";
  }

  static std::string_view methodText(Method method) {
    switch (method) {
      case Method::none: return "no partner";
      case Method::merkle: return "paired in an equal stretch of ops";
      case Method::anchor: return "paired by what is unique about it";
      case Method::edit: return "paired by its place between anchors";
      case Method::producers: return "paired by what made its inputs";
      case Method::provenance: return "paired by the source ops of the kernel";
      case Method::mapping: return "paired by your mapping file";
      case Method::coarse: return "paired by order alone";
    }
    return "";
  }

  void answer() {
    switch (result_.verdict) {
      case Verdict::identical: {
        const int64_t pairs = result_.counts.pairs;
        fmt::print(out_, "{} {}.\n", paint_.good("Identical:"),
                   pairs == 1 ? "the one aligned op agrees bit for bit"
                              : fmt::format("all {} aligned ops agree bit for bit", grouped(pairs)));
        return;
      }
      case Verdict::notComparable:
        fmt::print(out_, "{} {}.\n", paint_.warning("Not comparable:"),
                   result_.notComparableReason.empty() ? "the traces have nothing in common"
                                                       : result_.notComparableReason);
        return;
      case Verdict::withinTolerance:
        fmt::print(out_, "{} {} of {} op pairs differ, all inside the tolerance.\n",
                   paint_.good("Within tolerance:"), grouped(result_.counts.within),
                   grouped(result_.counts.pairs));
        if (result_.first) fmt::print(out_, "\n{}\n", headline(*result_.first));
        return;
      case Verdict::numeric:
      case Verdict::structural:
        fmt::print(out_, "{}\n", result_.first ? headline(*result_.first)
                                               : std::string("The traces differ."));
        return;
    }
  }

  std::string headline(const Origin& origin) const {
    const std::string what = paint_.name(origin.op);
    const std::string_view expected = origin.expected ? ", expected" : "";
    const auto with = [&](std::string_view title, std::string_view rest) {
      return fmt::format("{} {}{}", origin.expected ? paint_.warning(title) : paint_.bad(title),
                         what, rest);
    };
    switch (origin.difference) {
      case Difference::missing:
        return with("First structural difference:", " runs in A and has no partner in B");
      case Difference::extra:
        return with("First structural difference:", " runs in B and has no partner in A");
      case Difference::random:
        return with("First difference:",
                    fmt::format(" draws random numbers of another stream{}", expected));
      case Difference::scalar:
        return with("First divergent op:", " gets another scalar argument");
      default: break;
    }
    const std::string kind = fmt::format(", {} ({}{})", operandText(origin),
                                         differenceText(origin.difference), expected);
    if (origin.label == Label::source) {
      return with("First difference: a tensor that no recorded op made, read by", kind);
    }
    if (origin.label == Label::structural) return with("First structural difference:", kind);
    if (const std::string region = compiledRegion(origin); !region.empty()) {
      return fmt::format("{} inside the compiled region {}{}", paint_.bad("First divergence:"), region,
                         kind);
    }
    return with("First divergent op:", kind);
  }

  static const Frame* frame(const Origin& origin) {
    for (const auto* side : {&origin.a, &origin.b}) {
      if (*side && !(*side)->stack.empty()) return programFrame((*side)->stack);
    }
    return nullptr;
  }

  static std::string where(const Origin& origin) {
    std::string text = fmt::format("step {}", origin.step);
    if (origin.phase != Phase::other) text += fmt::format(", {}", name(origin.phase));
    if (!origin.module.empty() || !origin.moduleClass.empty()) {
      text += ", " + (origin.module.empty() ? "the root module" : origin.module);
      if (!origin.moduleClass.empty()) text += fmt::format(" ({})", origin.moduleClass);
    }
    if (const Frame* at = frame(origin)) text += ", " + frameText(*at);
    if (origin.rank != 0) text += fmt::format(", rank {}", origin.rank);
    return text;
  }

  void inSide(std::string_view title, const Origin& origin, const std::optional<OriginSide>& side) {
    if (!side) return;
    if (!side->kernel.empty()) {
      std::string text = fmt::format("kernel {}", side->kernel);
      std::vector<std::string> others;
      for (const std::string& op : origin.ops) {
        if (op != origin.op && std::find(others.begin(), others.end(), op) == others.end()) {
          others.push_back(op);
        }
      }
      if (!others.empty()) text += ", which also holds " + listed(others);
      detail(title, fmt::format("{} (#{})", text, side->id.value));
    } else if (side->op != origin.op && compiledRegion(origin).empty()) {
      detail(title, fmt::format("{} (#{})", side->op, side->id.value));
    }
  }

  static std::string listed(const std::vector<std::string>& names) {
    const size_t shown = std::min(names.size(), kOpsShown);
    std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + long(shown), ", "));
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return text;
  }

  static std::string size(const Origin& origin) {
    std::vector<std::string> parts;
    if (origin.operandDType != DType::Undefined) {
      parts.push_back(tensorText(origin.operandDType, origin.operandShape));
    }
    if (!std::isnan(origin.relativeError)) {
      parts.push_back(magnitude(origin.relativeError) + " relative");
    }
    if (!std::isnan(origin.ulp)) parts.push_back("about " + magnitude(origin.ulp) + " ulp");
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  void evidence(const Origin& origin) {
    detail("where", where(origin));
    inSide("in A", origin, origin.a);
    inSide("in B", origin, origin.b);
    if (origin.inputs > 0) {
      detail("inputs", fmt::format("{} of {} identical", origin.inputsIdentical, origin.inputs));
    }
    detail(origin.operandRole == Role::input ? "input" : "output", size(origin));
    detail("why", origin.explanation);
    detail("sure", fmt::format("{:.2f}: {}", origin.confidence, methodText(origin.alignment)));
    detail("ops", ids(origin));
  }

  static std::string ids(const Origin& origin) {
    if (origin.a && origin.b) {
      return fmt::format("#{} of A, #{} of B", origin.a->id.value, origin.b->id.value);
    }
    if (origin.a) return fmt::format("#{} of A", origin.a->id.value);
    if (origin.b) return fmt::format("#{} of B", origin.b->id.value);
    return {};
  }

  void dominant() {
    if (!result_.dominant) return;
    const Origin& origin = *result_.dominant;
    if (result_.first && result_.first->pair == origin.pair) {
      if (result_.frontier.size() > 1 && std::isfinite(origin.share)) {
        fmt::print(out_, "\nIt is also the dominant origin: it adds {} of the final error.\n",
                   percent(origin.share));
      }
      return;
    }
    fmt::print(out_, "\n{} {} in {}", paint_.bold("Dominant:"), paint_.name(origin.op),
               where(origin));
    if (std::isfinite(origin.share)) {
      fmt::print(out_, ": adds {} of the final error", percent(origin.share));
    } else if (!std::isnan(origin.relativeError)) {
      fmt::print(out_, ": {}", size(origin));
    }
    fmt::print(out_, ".\n");
  }

  void frontier() {
    std::vector<const Origin*> others;
    for (const Origin& origin : result_.frontier) {
      if (!result_.first || origin.pair != result_.first->pair) others.push_back(&origin);
    }
    if (others.empty()) return;
    fmt::print(out_, "\n{}\n", paint_.bold(others.size() == 1
                                               ? "One more starts on its own:"
                                               : fmt::format("{} more start on their own:",
                                                             grouped(int64_t(others.size())))));
    for (size_t i = 0; i < std::min(others.size(), kFrontierShown); ++i) {
      const Origin& origin = *others[i];
      std::string amount = size(origin);
      if (origin.expected) amount += amount.empty() ? "expected" : ", expected";
      fmt::print(out_, "  {}  {}  {}  {}\n", paint_.name(origin.op), where(origin),
                 differenceText(origin.difference), paint_.dim(amount));
    }
    if (others.size() > kFrontierShown) {
      fmt::print(out_, "  and {} more: --format=json lists them all\n",
                 grouped(int64_t(others.size() - kFrontierShown)));
    }
  }

  void summary() {
    const Counts& counts = result_.counts;
    std::vector<std::string> parts;
    const auto add = [&](int64_t n, std::string_view one, std::string_view many) {
      if (n > 0) parts.push_back(fmt::format("{} {}", grouped(n), n == 1 ? one : many));
    };
    // Origins outside the frontier agree on their own inputs but have one before them.
    int64_t later = counts.origin;
    for (const Origin& origin : result_.frontier) later -= origin.label == Label::origin;
    add(later, "op after them starts to differ on its own", "ops after them start to differ on their own");
    add(counts.propagated, "carries the difference on", "carry the difference on");
    add(counts.healed, "heals it", "heal it");
    if (result_.verdict != Verdict::withinTolerance) {
      add(counts.within, "is within the tolerance", "are within the tolerance");
    }
    add(counts.opaque, "can't be compared", "can't be compared");
    if (!parts.empty()) fmt::print(out_, "\n{}.\n", fmt::join(parts, "; "));
    fmt::print(out_, "\n");
  }

  void environment() {
    const auto& differences = result_.environment;
    if (differences.empty()) {
      row("environment", "no setting differs");
      return;
    }
    std::string text = fmt::format("{}:", differences.size() == 1
                                              ? "1 setting differs"
                                              : fmt::format("{} settings differ", differences.size()));
    for (size_t i = 0; i < std::min(differences.size(), kEnvironmentShown); ++i) {
      const auto shown = [](const std::string& value) {
        if (value.empty()) return std::string("not set");
        return value.size() > 60 ? value.substr(0, 57) + "..." : value;
      };
      text += fmt::format("{} {} ({} | {})", i == 0 ? "" : ",", differences[i].key,
                          shown(differences[i].a), shown(differences[i].b));
    }
    if (differences.size() > kEnvironmentShown) {
      text += fmt::format(" and {} more", differences.size() - kEnvironmentShown);
    }
    row("environment", text);
  }

  std::string aligned() const {
    const int64_t opsA = int64_t(result_.a.ops.ops.size());
    const int64_t opsB = int64_t(result_.b.ops.ops.size());
    int64_t pairedA = 0, pairedB = 0, kernels = 0, stoodFor = 0;
    for (const Pair& pair : result_.pairs) {
      if (pair.countA == 0 || pair.countB == 0) continue;
      pairedA += pair.countA;
      pairedB += pair.countB;
      if (pair.method == Method::provenance) {
        kernels += pair.countB;
        stoodFor += pair.countA;
      }
    }
    std::string text = pairedA == opsA && pairedB == opsB && opsA == opsB
                           ? fmt::format("all {}", counted(opsA, "op"))
                           : fmt::format("{} of {} of A, {} of {} of B", grouped(pairedA),
                                         counted(opsA, "op"), grouped(pairedB), grouped(opsB));
    if (kernels > 0) {
      text += fmt::format("; {} of B {} for {} of A", counted(kernels, "kernel"),
                          kernels == 1 ? "stands" : "stand", counted(stoodFor, "op"));
    }
    if (result_.budgetExceeded) text += "; some stretches by order alone (budget exceeded)";
    return text;
  }

  static std::string coverageText(const Side& side) {
    const Coverage& coverage = side.coverage;
    std::string text =
        coverage.hashed == coverage.tensors
            ? fmt::format("all {} hashed", counted(int64_t(coverage.tensors), "tensor"))
            : fmt::format("{} of {} hashed", grouped(int64_t(coverage.hashed)),
                          counted(int64_t(coverage.tensors), "tensor"));
    std::string reasons;
    for (const auto& [reason, count] : coverage.skipped) {
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", reason, grouped(int64_t(count)));
    }
    if (!reasons.empty()) text += fmt::format(" (skipped: {})", reasons);
    text += fmt::format(", closure {}", percent(coverage.closure()));
    if (!side.complete) text += ", cut short: the run did not end cleanly";
    return text;
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
