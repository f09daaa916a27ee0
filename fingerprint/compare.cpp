#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "fingerprint/fingerprint.h"
#include "fingerprint/float_formats.h"

namespace ulpscope {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// |s - t|_2. Scaled, so that neither tiny nor huge values leave the range of float64.
double sketchDistance(const Sketch& s, const Sketch& t) {
  double largest = 0;
  for (size_t k = 0; k < s.size(); ++k) {
    const double difference = std::abs(s[k] - t[k]);
    if (!std::isfinite(difference)) return kNaN;
    largest = std::max(largest, difference);
  }
  if (largest == 0) return 0;
  double sum = 0;
  for (size_t k = 0; k < s.size(); ++k) {
    const double scaled = (s[k] - t[k]) / largest;
    sum += scaled * scaled;
  }
  return largest * std::sqrt(sum);
}

uint64_t finiteComponents(const Statistics& x) {
  return x.components - x.nan - x.positiveInfinity - x.negativeInfinity;
}

// The distance between neighbours at `magnitude` in a format with that many significand bits.
double ulpSize(double magnitude, int significandBits, int minimumExponent) {
  int exponent = minimumExponent;
  if (magnitude > 0 && std::isfinite(magnitude)) {
    exponent = std::max(exponent, std::ilogb(magnitude));
  }
  return std::ldexp(1.0, exponent - significandBits + 1);
}

// The dtype with fewer significand bits, of those that have any.
DType coarser(DType a, DType b) {
  const int bitsA = info(a).significandBits;
  const int bitsB = info(b).significandBits;
  if (bitsA == 0) return b;
  if (bitsB == 0) return a;
  return bitsB < bitsA ? b : a;
}

bool sameValue(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

Comparison compare(const Fingerprint& x, DType a, const Fingerprint& y, DType b) {
  Comparison result;
  result.relative = kNaN;
  result.ulp = kNaN;
  const Digest empty = fingerprint(StridedView{}, Level::digest).digest;
  result.identical = x.digest == y.digest && (a == b || x.digest == empty);
  if (x.level >= Level::statistics && y.level >= Level::statistics) {
    result.countsDiffer = x.statistics.nan != y.statistics.nan ||
                          x.statistics.positiveInfinity != y.statistics.positiveInfinity ||
                          x.statistics.negativeInfinity != y.statistics.negativeInfinity;
  }
  if (x.level < Level::full || y.level < Level::full) return result;
  if (x.statistics.components != y.statistics.components) return result;
  const double distance = result.identical ? 0 : sketchDistance(x.sketch, y.sketch);
  if (!std::isfinite(distance)) return result;

  result.distanceKnown = true;
  result.distance = distance;
  const double normX = std::sqrt(x.statistics.sumSquares);
  const double normY = std::sqrt(y.statistics.sumSquares);
  const double norm = std::max(normX, normY);
  if (!result.identical) {
    // The estimate of the squared distance has a relative standard error of at most sqrt(2/16),
    // its root of half as much; what float64 rounds off in the sketches' sums adds to that.
    const double sampling = 0.5 * std::sqrt(2.0 / kSketchSize) * distance;
    const double rounding = 0x1p-52 * norm;
    result.standardError = std::hypot(sampling, std::isfinite(rounding) ? rounding : 0);
  }
  if (distance == 0) {
    result.relative = 0;
  } else {
    result.relative = norm == 0 ? kInfinity : distance / norm;
  }
  const DType unit = coarser(a, b);
  const uint64_t count = finiteComponents(x.statistics);
  if (info(unit).significandBits != 0) {
    if (count == 0 || distance == 0) {
      result.ulp = 0;
    } else {
      const double root = std::sqrt(static_cast<double>(count));
      result.ulp = distance / root /
                   ulpSize(normX / root, info(unit).significandBits, minimumExponent(unit));
    }
  }
  return result;
}

std::string differingStatistics(const Fingerprint& x, const Fingerprint& y) {
  std::string names;
  if (x.level < Level::statistics || y.level < Level::statistics) return names;
  const Statistics& s = x.statistics;
  const Statistics& t = y.statistics;
  const auto add = [&names](const char* name, bool differs) {
    if (!differs) return;
    if (!names.empty()) names += ',';
    names += name;
  };
  add("components", s.components != t.components);
  add("nan", s.nan != t.nan);
  add("+inf", s.positiveInfinity != t.positiveInfinity);
  add("-inf", s.negativeInfinity != t.negativeInfinity);
  add("zero", s.zero != t.zero);
  add("-0", s.negativeZero != t.negativeZero);
  add("subnormal", s.subnormal != t.subnormal);
  add("min", !sameValue(s.min, t.min));
  add("max", !sameValue(s.max, t.max));
  add("sum", !sameValue(s.sum, t.sum));
  add("l1", !sameValue(s.l1, t.l1));
  add("l2", !sameValue(s.sumSquares, t.sumSquares));
  return names;
}

std::string toHex(const Digest& digest) {
  std::array<char, 33> text;
  std::snprintf(text.data(), text.size(), "%016llx%016llx",
                static_cast<unsigned long long>(digest.high),
                static_cast<unsigned long long>(digest.low));
  return text.data();
}

}  // namespace ulpscope
