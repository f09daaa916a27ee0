#include "diff/scalar_difference.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "diff/dataflow.h"
#include "diff/scalar_meaning.h"

namespace ulpscope {
namespace {

std::string argumentName(const Schema& schema, int argument) {
  const size_t at = size_t(std::max(0, argument));
  return at < schema.arguments.size() ? schema.arguments[at]
                                      : "argument " + std::to_string(argument);
}

/// The value of a number that became a tensor, as the shortest text that reads back to it.
std::string numberText(const SideIndex& side, const Operand& operand) {
  const Fingerprint fingerprint = side.reader().fingerprint(operand.fingerprint);
  if (fingerprint.level == Level::digest) return "#" + toHex(fingerprint.digest).substr(0, 8);
  const Statistics& s = fingerprint.statistics;
  if (s.nan > 0) return "nan";
  if (s.positiveInfinity > 0) return "inf";
  if (s.negativeInfinity > 0) return "-inf";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, s.sum).ptr;
  return std::string(text, end);
}

ScalarDifference differenceOfNumbers(const SideIndex& a, const Op& x, const SideIndex& b,
                                     const Op& y) {
  for (const Operand& ox : a.operandsOf(x)) {
    if (!isNumber(ox) || !isRead(ox.role) || !ox.fingerprint) continue;
    for (const Operand& oy : b.operandsOf(y)) {
      if (!isNumber(oy) || oy.role != ox.role || oy.arg != ox.arg || oy.item != ox.item ||
          !oy.fingerprint ||
          a.reader().digest(ox.fingerprint) == b.reader().digest(oy.fingerprint)) {
        continue;
      }
      const std::string textA = numberText(a, ox), textB = numberText(b, oy);
      // 2 and 2.0 are one number.
      if (textA != textB) return {argumentName(a.schema(x), ox.arg), textA, textB};
    }
  }
  return {};
}

}  // namespace

ScalarDifference scalarDifference(const SideIndex& a, const Op& x, const SideIndex& b,
                                  const Op& y) {
  const std::vector<Scalar>& xs = a.reader().scalars(x.scalars);
  const std::vector<Scalar>& ys = b.reader().scalars(y.scalars);
  const Schema& schemaX = a.schema(x);
  const Schema& schemaY = b.schema(y);
  const bool sameVariant = a.variant(x) == b.variant(y);
  for (const Scalar& sx : xs) {
    const std::string name = argumentName(schemaX, sx.arg);
    const auto other = std::find_if(ys.begin(), ys.end(), [&](const Scalar& sy) {
      return sameVariant ? sy.arg == sx.arg : argumentName(schemaY, sy.arg) == name;
    });
    if (other == ys.end()) {
      if (sameVariant && !meanTheSame(name, sx.text, "")) return {name, sx.text, "none"};
    } else if (!meanTheSame(name, sx.text, other->text)) {
      return {name, sx.text, other->text};
    }
  }
  if (sameVariant) {
    for (const Scalar& sy : ys) {
      const bool known =
          std::any_of(xs.begin(), xs.end(), [&](const Scalar& sx) { return sx.arg == sy.arg; });
      const std::string name = argumentName(schemaY, sy.arg);
      if (!known && !meanTheSame(name, "", sy.text)) return {name, "none", sy.text};
    }
  }
  return differenceOfNumbers(a, x, b, y);
}

}  // namespace ulpscope
