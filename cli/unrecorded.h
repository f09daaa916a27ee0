#pragma once

#include <string>
#include <vector>

#include "cli/process.h"

namespace ulpscope {

/// The likeliest reason why a command left no trace, as the end of a sentence, with what to do.
std::string whyNothingRecorded(const std::vector<std::string>& command, const ExitStatus& status);

}  // namespace ulpscope
