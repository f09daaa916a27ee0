#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "cli/process.h"

namespace ulpscope {

/// How a command is to be recorded: the flags of `ulpscope record`.
struct RecordFlags {
  std::string output;
  std::string inputs = "always";
  std::string level = "full";
  bool stacks = false;
  bool quiet = false;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::string steps;
  std::vector<std::string> capture;
  uint64_t captureLimit = uint64_t{64} << 20;
  std::string against;       ///< a trace that the run is followed along; "" for none
  std::string onDivergence;  ///< "capture", "stop", "pdb"; "": capture
};

/// Runs a command under the recorder, to its end, in our terminal. Throws CommandError where it can't
/// be started or this build has no recorder.
ExitStatus recordCommand(const RecordFlags& flags, const OutputFiles& files,
                         const std::vector<std::string>& command);

}  // namespace ulpscope
