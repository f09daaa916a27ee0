#pragma once

#include <vector>

#include "diff/result.h"

namespace ulpscope {

/// The settings in which two runs differ, by key. What differs between any two runs (process ids,
/// times, paths, host names) is left out.
std::vector<EnvironmentDifference> compareEnvironments(const std::vector<KeyValue>& a,
                                                       const std::vector<KeyValue>& b);

}  // namespace ulpscope
