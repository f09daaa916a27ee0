#pragma once

#include <string>
#include <vector>

#include "cli/process.h"

namespace ulpscope {

/// An interpreter that can run the parts of ours that need torch (`python -m ulpscope.NAME`).
struct TorchPython {
  std::string program;
  ChildEnvironment environment;  ///< finds our package, and records nothing

  /// The interpreter that a trace was recorded with, else the python beside this program, else
  /// python3 on PATH. Throws CommandError where there is none, or where our package is not there.
  static TorchPython of(const std::string& trace);

  /// program -m module arguments...
  std::vector<std::string> command(const std::string& module,
                                   const std::vector<std::string>& arguments) const;
};

}  // namespace ulpscope
