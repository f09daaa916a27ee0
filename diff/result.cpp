#include "diff/result.h"

namespace ulpscope {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::identical: return "identical";
    case Verdict::withinTolerance: return "within_tolerance";
    case Verdict::numeric: return "numeric";
    case Verdict::structural: return "structural";
    case Verdict::notComparable: return "not_comparable";
  }
  return "unknown";
}

std::string_view name(Label label) {
  switch (label) {
    case Label::identical: return "identical";
    case Label::within: return "within";
    case Label::origin: return "origin";
    case Label::propagated: return "propagated";
    case Label::healed: return "healed";
    case Label::structural: return "structural";
    case Label::source: return "source";
    case Label::opaque: return "opaque";
  }
  return "unknown";
}

std::string_view name(Difference difference) {
  switch (difference) {
    case Difference::none: return "none";
    case Difference::bitwise: return "bitwise";
    case Difference::rounding: return "rounding";
    case Difference::numeric: return "numeric";
    case Difference::nanInf: return "nan_inf";
    case Difference::dtype: return "dtype";
    case Difference::shape: return "shape";
    case Difference::stride: return "stride";
    case Difference::alias: return "alias";
    case Difference::scalar: return "scalar";
    case Difference::random: return "random";
    case Difference::missing: return "missing";
    case Difference::extra: return "extra";
    case Difference::unknown: return "unknown";
  }
  return "unknown";
}

std::string_view name(Method method) {
  switch (method) {
    case Method::none: return "none";
    case Method::merkle: return "merkle";
    case Method::anchor: return "anchor";
    case Method::edit: return "edit";
    case Method::producers: return "producers";
    case Method::provenance: return "provenance";
    case Method::mapping: return "mapping";
    case Method::coarse: return "coarse";
  }
  return "unknown";
}

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::other: return "other";
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::optimizer: return "optimizer";
  }
  return "other";
}

}  // namespace ulpscope
