#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/op_tree.h"
#include "cli/operand_address.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "diff/render/format.h"
#include "fingerprint/elementwise.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBarWidth = 40;

struct ValuesFlags {
  std::string a;
  std::string operandA;
  std::string b;
  std::string operandB;
  std::string order = "absolute";
  size_t largest = 10;
  std::string format = "text";
};

DifferenceOrder orderOf(const std::string& text) {
  if (text == "relative") return DifferenceOrder::relative;
  return text == "ulps" ? DifferenceOrder::ulps : DifferenceOrder::absolute;
}

/// Row-major coordinates of an element.
std::vector<int64_t> coordinates(int64_t element, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = element % sizes[d];
    element /= sizes[d];
  }
  return index;
}

/// With as many digits as tell any two values of the dtype apart.
std::string valueText(double value, DType dtype) {
  const int bits = info(dtype).significandBits;
  return fmt::format("{:.{}g}", value, bits == 0 || bits > 24 ? 17 : 9);
}

std::string ulpsText(int bucket) {
  const double end = ulpBucketEnd(bucket);
  if (bucket <= 2) return fmt::format("{:.0f}", end);
  if (bucket > 20) return fmt::format("2^{} to 2^{}", bucket - 2, bucket - 1);
  return fmt::format("{}-{}", grouped(int64_t(ulpBucketEnd(bucket - 1)) + 1), grouped(int64_t(end)));
}

double relativeDistance(const ElementComparison& c) {
  return c.distance == 0 ? 0 : c.distance / c.norm;
}

Json sideJson(const CapturedOperand& side) {
  return {{"path", side.trace},
          {"id", side.op.id.value},
          {"op", side.opName},
          {"operand", {{"role", roleText(side.operand.role)},
                       {"arg", side.operand.arg},
                       {"item", side.operand.item},
                       {"name", side.name},
                       {"dtype", info(side.type.dtype).name},
                       {"shape", side.type.sizes},
                       {"stride", side.type.strides}}}};
}

/// JSON has no NaN and no infinity: they are given as texts.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value));
}

void printJson(const CapturedOperand& a, const CapturedOperand& b, const ElementComparison& c) {
  Json histogram = Json::array();
  for (int bucket = 0; bucket < kUlpBuckets; ++bucket) {
    const int64_t count = c.histogram[size_t(bucket)];
    if (count == 0) continue;
    histogram.push_back({{"above", bucket == 0 ? Json(nullptr) : Json(ulpBucketEnd(bucket - 1))},
                         {"to", ulpBucketEnd(bucket)},
                         {"count", count}});
  }
  Json largest = Json::array();
  for (const ElementDifference& d : c.largest) {
    largest.push_back({{"index", coordinates(d.element, a.type.sizes)},
                       {"component", d.component},
                       {"a", number(d.a)},
                       {"b", number(d.b)},
                       {"absolute", number(d.absolute)},
                       {"relative", number(d.relative)},
                       {"ulps", number(d.ulps)}});
  }
  const Json result = {{"schema", "ulpscope.values/1"},
                       {"a", sideJson(a)},
                       {"b", sideJson(b)},
                       {"elements", c.elements},
                       {"components", c.components},
                       {"differing", c.differing},
                       {"signed_zeros", c.signedZeros},
                       {"non_finite", c.nonFinite},
                       {"nan_payloads", c.payloads},
                       {"max_absolute", c.maxAbsolute},
                       {"max_relative", c.maxRelative},
                       {"max_ulps", c.maxUlps},
                       {"distance", number(c.distance)},
                       {"relative_distance", number(relativeDistance(c))},
                       {"histogram", std::move(histogram)},
                       {"largest", std::move(largest)}};
  std::cout << result.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

void printSide(const Paint& paint, const char* letter, const CapturedOperand& side) {
  fmt::print("{}  {} #{} {} {} {}: {}\n", paint.bold(letter), side.trace, side.op.id.value,
             paint.name(side.opName), roleText(side.operand.role), side.name,
             tensorText(side.type.dtype, side.type.sizes));
}

void printHistogram(const ElementComparison& c) {
  const auto most = *std::max_element(c.histogram.begin(), c.histogram.end());
  if (most == 0) return;
  int first = kUlpBuckets, last = -1;
  for (int bucket = 0; bucket < kUlpBuckets; ++bucket) {
    if (c.histogram[size_t(bucket)] == 0) continue;
    first = std::min(first, bucket);
    last = bucket;
  }
  fmt::print("\n{:<20} {:>14}\n", "ulps", "components");
  for (int bucket = first; bucket <= last; ++bucket) {
    const int64_t count = c.histogram[size_t(bucket)];
    const auto width = int(std::ceil(double(count) / double(most) * kBarWidth));
    fmt::print("{:<20} {:>14}{}{:#>{}}\n", ulpsText(bucket), grouped(count), width ? "  " : "", "",
               width);
  }
}

void printText(const ValuesFlags& flags, const CapturedOperand& a, const CapturedOperand& b,
               const ElementComparison& c) {
  const Paint paint{colourOn(STDOUT_FILENO)};
  printSide(paint, "A", a);
  printSide(paint, "B", b);
  if (c.differing == 0) {
    fmt::print("\n{}: all {} are the same\n", paint.good("identical"),
               counted(c.elements, "element"));
  } else {
    fmt::print("\n{} of {} differ; distance {} of the norm\n", grouped(c.differing),
               counted(c.components, c.components == c.elements ? "element" : "component"),
               magnitude(relativeDistance(c)));
    fmt::print("largest: {} absolute, {} relative, {} ulps\n", magnitude(c.maxAbsolute),
               magnitude(c.maxRelative), magnitude(c.maxUlps));
    if (c.nonFinite != 0) {
      fmt::print("{} NaN or infinite on one side, not on the other\n", grouped(c.nonFinite));
    }
    if (c.payloads != 0) fmt::print("{} NaN on both sides, of other bits\n", grouped(c.payloads));
    if (c.signedZeros != 0) fmt::print("{} are 0 and -0\n", grouped(c.signedZeros));
    printHistogram(c);
    if (!c.largest.empty()) fmt::print("\nlargest differences ({})\n", flags.order);
    for (const ElementDifference& d : c.largest) {
      std::string where = fmt::format("[{}]", fmt::join(coordinates(d.element, a.type.sizes), ", "));
      if (c.components != c.elements) where += d.component == 0 ? ".real" : ".imag";
      fmt::print("  {:<20} {:>18} {:>18}  {} absolute, {} relative, {} ulps\n", where,
                 valueText(d.a, a.type.dtype), valueText(d.b, b.type.dtype), magnitude(d.absolute),
                 magnitude(d.relative), magnitude(d.ulps));
    }
  }
  fmt::print("\n{} ulpscope {}\n", paint.dim("next:"),
             a.trace == b.trace
                 ? fmt::format("show {} --operands", shellQuoted(a.trace))
                 : fmt::format("diff {} {}", shellQuoted(a.trace), shellQuoted(b.trace)));
}

int values(const ValuesFlags& flags) {
  const CapturedOperand a = readCaptured(Reader(flags.a), OperandAddress::parse(flags.operandA));
  const CapturedOperand b = readCaptured(Reader(flags.b), OperandAddress::parse(flags.operandB));
  const ElementComparison c = compareElements(a.values, a.type.dtype, b.values, b.type.dtype,
                                              orderOf(flags.order), flags.largest);
  if (c.elements == 0) {
    throw CommandError(fmt::format(
        "{} of A and {} of B have no elements in common; name others, as in {}:input0",
        tensorText(a.type.dtype, a.type.sizes), tensorText(b.type.dtype, b.type.sizes),
        a.op.id.value));
  }
  if (flags.format == "json") {
    printJson(a, b, c);
  } else {
    printText(flags, a, b, c);
  }
  std::cout.flush();
  if (!std::cout) throw CommandError("can't write the answer to the output; is its disk full?");
  return c.differing == 0 ? 0 : 1;
}

}  // namespace

Action defineValues(CLI::App& app) {
  auto flags = std::make_shared<ValuesFlags>();
  app.add_option("A", flags->a, "the reference trace")->required();
  app.add_option("OPERAND_A", flags->operandA,
                 "one of its captured operands: the op's number (its result), or with role, argument "
                 "and item: 22:after1, 22:input0.3")
      ->required();
  app.add_option("B", flags->b, "the trace to judge, which may be A")->required();
  app.add_option("OPERAND_B", flags->operandB, "one of its captured operands")->required();
  app.add_option("--by", flags->order, "which differences are the largest: absolute, relative or ulps")
      ->check(CLI::IsMember({"absolute", "relative", "ulps"}))
      ->capture_default_str();
  app.add_option("--largest", flags->largest, "list so many differences")->capture_default_str();
  app.add_option("--format", flags->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [flags](const Invocation&) { return values(*flags); };
}

}  // namespace ulpscope
