#pragma once

#include <string>

#include "diff/diff.h"

namespace ulpscope {

/// Compares two folders, as many ranks at once as there are cores. What differs on a rank because a
/// collective brought it there is not an origin: the rank that put a differing value in is. Throws
/// RunFolderError where a folder holds no run or the two hold other ranks; TraceError; Cancelled.
///
/// The result is that of the rank on which the difference starts (else of the lowest), with `first`,
/// `frontier`, `counts` and `verdict` of the whole run; Origin::pair of another rank's origin is -1.
/// `options.noiseFile` is a folder, too.
DiffResult diffRuns(const std::string& a, const std::string& b, const DiffOptions& options);

}  // namespace ulpscope
