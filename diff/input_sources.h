#pragma once

#include "diff/judge.h"
#include "diff/result_differences.h"

namespace ulpscope {

/// The judge's second pass: finds where each differing input of each pair came from, and relabels the
/// pairs that start something by what they read (another tensor; data, parameters), and the
/// compiled regions that stand for kernels that were not seen. `mixed`: one side is compiled, the other not.
void traceInputs(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
                 const OperandMatcher& matcher, ValueComparer& values,
                 ResultDifferences& differences, Judgement& judgement, bool mixed);

}  // namespace ulpscope
