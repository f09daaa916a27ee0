#pragma once

#include <string>

#include "store/reader.h"

namespace ulpscope {

/// "2,914 ops in 3 steps; all 8,300 tensors hashed; closure 100%", with "cut short" where it is.
std::string traceSummary(const Reader& trace);

/// "all 8,300 tensors hashed" or "8,120 of 8,300 tensors hashed (skipped: device 100, ...)".
std::string coverageSummary(const Coverage& coverage);

/// The command that was recorded, as a shell would take it; "" where the trace does not say.
std::string commandLine(const Reader& trace);

}  // namespace ulpscope
