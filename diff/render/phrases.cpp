#include "diff/render/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diff/render/format.h"

namespace ulpscope {
namespace {

constexpr size_t kOpsShown = 6;

/// {name, "A" or "B"} where the origin is a compiled region whose inside was not seen, else empty.
std::pair<std::string, std::string_view> compiledRegion(const DiffResult& result,
                                                        const Origin& origin) {
  if (origin.pair < 0 || size_t(origin.pair) >= result.pairs.size()) return {};
  const Pair& pair = result.pairs[size_t(origin.pair)];
  const auto compiled = [](const Side& side, std::span<const uint32_t> members) {
    return std::any_of(members.begin(), members.end(), [&](uint32_t member) {
      return member < side.ops.ops.size() && side.ops.ops[member].kind == OpKind::compiled;
    });
  };
  if (compiled(result.b, result.opsB(pair))) return {origin.b ? origin.b->op : origin.op, "B"};
  if (compiled(result.a, result.opsA(pair))) return {origin.a ? origin.a->op : origin.op, "A"};
  return {};
}

std::string listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kOpsShown);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + long(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace

Headline headline(const DiffResult& result, const Origin& origin) {
  const bool later = result.first && !isSame(*result.first, origin);
  const auto title = [&](std::string_view lower) {
    std::string text = fmt::format("{}{}:", later ? "" : "First ", lower);
    text[0] = char(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
  };
  const std::string_view expected = origin.expected ? ", expected" : "";
  switch (origin.difference) {
    case Difference::missing:
      return {title("structural difference"), " ", origin.op, " runs in A and has no partner in B"};
    case Difference::extra:
      return {title("structural difference"), " ", origin.op, " runs in B and has no partner in A"};
    case Difference::random:
      return {title("difference"), " ", origin.op,
              fmt::format(" draws random numbers of another stream{}", expected)};
    case Difference::scalar:
      return {title("divergent op"), " ", origin.op, " gets another scalar argument"};
    default: break;
  }
  const std::string kind =
      fmt::format(", {} ({}{})", operandText(origin), phrase(origin.difference), expected);
  if (origin.label == Label::source) {
    return {title("difference"), " a tensor that no recorded op made, read by ", origin.op, kind};
  }
  if (origin.label == Label::structural) {
    return {title("structural difference"), " ", origin.op, kind};
  }
  if (const auto [region, side] = compiledRegion(result, origin); !region.empty()) {
    return {title("divergence"), " inside the compiled region ", region,
            fmt::format(" of {}{}", side, kind)};
  }
  return {title("divergent op"), " ", origin.op, kind};
}

std::string verdictText(const DiffResult& result) {
  switch (result.verdict) {
    case Verdict::identical: {
      const int64_t pairs = result.counts.pairs;
      return pairs == 1 ? "Identical: the one aligned op agrees bit for bit"
                        : fmt::format("Identical: all {} aligned ops agree bit for bit", grouped(pairs));
    }
    case Verdict::withinTolerance:
      return fmt::format("Within tolerance: {} of {} op pairs differ, all inside the tolerance",
                         grouped(result.counts.within), grouped(result.counts.pairs));
    case Verdict::notComparable:
      return "Not comparable: " + (result.notComparableReason.empty()
                                       ? std::string("the traces have nothing in common")
                                       : result.notComparableReason);
    case Verdict::numeric:
    case Verdict::structural: break;
  }
  return result.first ? headline(result, *result.first).whole() : "The traces differ";
}

std::string_view phrase(Difference difference) {
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

std::string_view phrase(Method method) {
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

std::string_view phrase(Label label) {
  switch (label) {
    case Label::identical: return "identical";
    case Label::within: return "within tolerance";
    case Label::origin: return "starts here";
    case Label::propagated: return "carries a difference on";
    case Label::healed: return "heals";
    case Label::structural: return "structure differs";
    case Label::source: return "reads other data";
    case Label::opaque: return "not comparable";
  }
  return "";
}

const Frame* originFrame(const Origin& origin) {
  for (const auto* side : {&origin.a, &origin.b}) {
    if (*side && !(*side)->stack.empty()) return programFrame((*side)->stack);
  }
  return nullptr;
}

std::string whereText(const Origin& origin) {
  std::string text = fmt::format("step {}", origin.step);
  if (origin.phase != Phase::other) text += fmt::format(", {}", name(origin.phase));
  if (!origin.module.empty() || !origin.moduleClass.empty()) {
    text += ", " + (origin.module.empty() ? "the root module" : origin.module);
    if (!origin.moduleClass.empty()) text += fmt::format(" ({})", origin.moduleClass);
  }
  if (const Frame* at = originFrame(origin)) text += ", " + frameText(*at);
  if (origin.rank != 0) text += fmt::format(", rank {}", origin.rank);
  return text;
}

std::string sizeText(const Origin& origin) {
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

std::string operandText(const Origin& origin) {
  switch (origin.operandRole) {
    case Role::input: return fmt::format("input {}", origin.operandIndex);
    case Role::before: return fmt::format("argument {} before the op", origin.operandIndex);
    case Role::after: return fmt::format("argument {} as written", origin.operandIndex);
    case Role::output: break;
  }
  return fmt::format("output {}", origin.operandIndex);
}

std::string idsText(const Origin& origin) {
  if (origin.a && origin.b) {
    return fmt::format("#{} of A, #{} of B", origin.a->id.value, origin.b->id.value);
  }
  if (origin.a) return fmt::format("#{} of A", origin.a->id.value);
  if (origin.b) return fmt::format("#{} of B", origin.b->id.value);
  return {};
}

std::string sideText(const DiffResult& result, const Origin& origin,
                     const std::optional<OriginSide>& side) {
  if (!side) return {};
  if (!side->kernel.empty()) {
    std::string text = fmt::format("kernel {}", side->kernel);
    std::vector<std::string> others;
    for (const std::string& op : origin.ops) {
      if (op != origin.op && std::find(others.begin(), others.end(), op) == others.end()) {
        others.push_back(op);
      }
    }
    if (!others.empty()) text += ", which also holds " + listed(others);
    return fmt::format("{} (#{})", text, side->id.value);
  }
  if (side->op != origin.op && compiledRegion(result, origin).first.empty()) {
    return fmt::format("{} (#{})", side->op, side->id.value);
  }
  return {};
}

std::string countsText(const DiffResult& result) {
  const Counts& counts = result.counts;
  std::vector<std::string> parts;
  const auto add = [&](int64_t n, std::string_view one, std::string_view many) {
    if (n > 0) parts.push_back(fmt::format("{} {}", grouped(n), n == 1 ? one : many));
  };
  // Origins outside the frontier agree on their own inputs but have one before them.
  int64_t later = counts.origin;
  for (const Origin& origin : result.frontier) later -= origin.label == Label::origin;
  add(later, "op after them starts to differ on its own", "ops after them start to differ on their own");
  add(counts.propagated, "carries the difference on", "carry the difference on");
  add(counts.healed, "heals it", "heal it");
  if (result.verdict != Verdict::withinTolerance) {
    add(counts.within, "is within the tolerance", "are within the tolerance");
  }
  add(counts.opaque, "can't be compared", "can't be compared");
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string alignedText(const DiffResult& result) {
  const int64_t opsA = int64_t(result.a.ops.ops.size());
  const int64_t opsB = int64_t(result.b.ops.ops.size());
  int64_t pairedA = 0, pairedB = 0, kernels = 0, stoodFor = 0;
  for (const Pair& pair : result.pairs) {
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
  if (result.budgetExceeded) text += "; some stretches by order alone (budget exceeded)";
  return text;
}

std::string coverageText(const Side& side) {
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

}  // namespace ulpscope
