#include "diff/values.h"

#include <algorithm>
#include <cmath>

#include "diff/dataflow.h"

namespace ulpscope {
namespace {

// Two orders of summing n terms differ by about sqrt(n) half-ulps where the terms have one sign, and
// by more where they cancel: within these many ulps (root mean square) a difference is rounding.
constexpr double kRoundingUlps = 4;
constexpr double kRoundingUlpsPerRootTerm = 4;

}  // namespace

int64_t elementCount(const TensorType& type) {
  int64_t count = 1;
  for (const int64_t size : type.sizes) count *= size;
  return count;
}

bool ValueComparer::equalDigest(const Operand& a, const Operand& b) const {
  if (!a.fingerprint || !b.fingerprint) return false;
  return a_.reader().digest(a.fingerprint) == b_.reader().digest(b.fingerprint);
}

Compared ValueComparer::compare(const Operand& a, const Operand& b, bool sameForm) {
  Compared result;
  const TensorType& typeA = a_.reader().type(a.type);
  const TensorType& typeB = b_.reader().type(b.type);
  result.dtype = typeA.dtype != typeB.dtype;
  result.shape = typeA.sizes != typeB.sizes;
  result.stride = !result.shape && typeA.strides != typeB.strides;
  const bool comparable = sameForm ? !result.shape : elementCount(typeA) == elementCount(typeB);
  if (!a.fingerprint || !b.fingerprint || !comparable) return result;
  if (!result.dtype && equalDigest(a, b)) {
    result.values = Compared::Values::identical;
    return result;
  }
  const uint64_t slot = mix(uint64_t(a.fingerprint.value), uint64_t(b.fingerprint.value));
  Remembered& remembered = recent_[slot % recent_.size()];
  if (remembered.a == a.fingerprint && remembered.b == b.fingerprint &&
      remembered.typeA == a.type && remembered.typeB == b.type) {
    return remembered.compared;
  }
  const Comparison comparison =
      ulpscope::compare(a_.reader().fingerprint(a.fingerprint), typeA.dtype,
                        b_.reader().fingerprint(b.fingerprint), typeB.dtype);
  if (comparison.identical) {
    result.values = Compared::Values::identical;
  } else if (result.dtype && comparison.distanceKnown && comparison.distance == 0 &&
             !comparison.countsDiffer) {
    result.values = Compared::Values::identical;  // the same numbers, kept in another dtype
  } else {
    result.values = Compared::Values::differ;
    result.nonFinite = comparison.countsDiffer;
    if (comparison.distanceKnown) {
      const double count = double(std::max<int64_t>(1, elementCount(typeA)));
      result.relative = float(comparison.relative);
      result.rms = float(comparison.distance / std::sqrt(count));
      result.ulp = float(comparison.ulp);
    }
  }
  remembered = {a.fingerprint, b.fingerprint, a.type, b.type, result};
  return result;
}

bool isWithin(const Compared& compared, const Tolerance& tolerance) {
  if (!compared.differs() || compared.nonFinite) return false;
  return (tolerance.rtol > 0 && compared.relative <= tolerance.rtol) ||
         (tolerance.atol > 0 && compared.rms <= tolerance.atol) ||
         (tolerance.ulp > 0 && compared.ulp <= tolerance.ulp);
}

Difference kindOf(const Compared& compared, double terms) {
  if (compared.nonFinite) return Difference::nanInf;
  if (std::isnan(compared.relative) || compared.relative == 0) return Difference::bitwise;
  if (compared.ulp <= kRoundingUlps + kRoundingUlpsPerRootTerm * std::sqrt(terms - 1)) {
    return Difference::rounding;
  }
  return Difference::numeric;
}

double termsSummed(const SideIndex& side, const Op& op) {
  const OpFacts& facts = side.facts(op);
  if (!facts.reduces && !facts.contracts) return 1;
  double first = 0, second = 0, out = 0;
  for (const Operand& operand : side.operandsOf(op)) {
    const double count = double(elementCount(side.reader().type(operand.type)));
    if (isWritten(operand.role)) {
      out = std::max(out, count);
    } else if (count > first) {
      second = first;
      first = count;
    } else {
      second = std::max(second, count);
    }
  }
  if (out <= 0 || first <= 0) return 1;
  // A contraction of m x k by k x n into m x n: sqrt(mk * kn / mn) = k.
  if (facts.contracts && second > 0) return std::max(1.0, std::sqrt(first * second / out));
  if (out < first) return std::max(1.0, first / out);
  // Softmax and norms keep the shape: their statistics sum over at most the last dimensions.
  double last = 1;
  for (const Operand& operand : side.operandsOf(op)) {
    const TensorType& type = side.reader().type(operand.type);
    if (!type.sizes.empty()) last = std::max(last, double(type.sizes.back()));
  }
  return last;
}

}  // namespace ulpscope
