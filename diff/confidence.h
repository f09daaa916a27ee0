#pragma once

#include "diff/result.h"

/// How sure an answer is. Measured on planted faults (bench/accuracy; docs/alignment.md has the
/// table).
namespace ulpscope::confidence {

/// Of a pair by the way it was found.
inline float base(Method method) {
  switch (method) {
    case Method::merkle: return 0.99f;
    case Method::anchor: return 0.98f;
    case Method::mapping: return 0.99f;
    case Method::edit: return 0.96f;
    case Method::producers: return 0.95f;
    case Method::provenance: return 0.9f;
    case Method::none: return 0.97f;
    case Method::coarse: return 0.4f;
  }
  return 0.5f;
}

// Factors.
inline constexpr float kUnseenInputs = 0.8f;   ///< some inputs could not be compared
inline constexpr float kWeakMatch = 0.85f;      ///< the operands were matched by kind and order
inline constexpr float kBrokenClosure = 0.7f;  ///< written behind the recorder's back
// Caps.
inline constexpr float kSuspect = 0.6f;  ///< named only because it adds far more than it inherits

}  // namespace ulpscope::confidence
