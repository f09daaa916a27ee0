#pragma once

#include <functional>
#include <string>

#include "diff/result.h"

namespace ulpscope {

struct Tolerance {
  double rtol = 0;  ///< on the relative L2 error of an operand
  double atol = 0;  ///< on the estimated root-mean-square difference of an operand
  double ulp = 0;   ///< on the estimated root-mean-square difference in ulps
};

struct DiffOptions {
  Tolerance tolerance;
  std::string mapFile;    ///< "" none; see docs/alignment.md
  std::string rulesFile;  ///< "" none; tolerances for some ops, see docs/alignment.md
  std::string noiseFile;  ///< a second run of A: what differs between the two is the noise floor
  /// Stop after the first steps that hold a difference: `first` and the frontier so far, without
  /// reading the rest.
  bool firstOnly = false;
  /// Called now and then with the share done, 0..1; return false to cancel (diff throws Cancelled).
  std::function<bool(double)> progress;
};

struct Cancelled {};

/// Compares two traces. Ops are paired by structure alone; values judge the pairs. Throws TraceError
/// for a file that can't be read or a mapping file that can't be parsed.
DiffResult diff(const std::string& a, const std::string& b, const DiffOptions& options);

/// Resolves a pair into what renderers print of it.
Origin describe(const DiffResult& result, int32_t pair);

/// Exit status of `ulpscope diff`: 0, 1, 3 or 4.
int exitStatus(Verdict verdict);

}  // namespace ulpscope
