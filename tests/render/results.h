#pragma once

#include "diff/result.h"

/// Results of made-up diffs; the renderers see nothing else.
namespace ulpscope::testing {

DiffResult identicalResult();
/// layer_norm inside a fused kernel of B rounds otherwise; an mm of step 1 adds most of the error.
DiffResult numericResult();
DiffResult structuralResult();  ///< B lacks a dropout
DiffResult notComparableResult();

}  // namespace ulpscope::testing
