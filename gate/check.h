#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diff/diff.h"
#include "gate/folder.h"

namespace ulpscope::gate {

/// What may differ where the baseline is of another environment: there bits differ by right, so
/// statistics are compared, with at least this relative error allowed for every operand.
inline constexpr double kFallbackTolerance = 1e-3;

/// A folder that is gone when its last owner is.
class TemporaryFolder {
 public:
  TemporaryFolder();  ///< throws TraceError where there is no room for temporary files
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct CheckOptions {
  Tolerance tolerance;
  std::string rulesFile;
  double fallbackTolerance = kFallbackTolerance;
  std::function<bool(double)> progress;
};

/// A run held against a baseline. In `result`, A is the baseline and B the run.
struct Checked {
  DiffResult result;
  Baseline run;        ///< what the run looks like as a baseline
  std::string key;     ///< of the run's environment
  bool exact = false;  ///< the baseline is of the same environment
  std::vector<EnvironmentDifference> facts;  ///< key facts that differ where it is not
  std::shared_ptr<TemporaryFolder> files;    ///< what the result's readers read
};

/// Compares a trace with a baseline file: bit by bit where the environment is the same, within
/// `fallbackTolerance` where it is not (equal bits pass there too). Throws TraceError for a file that
/// can't be read.
Checked check(const Folder::Entry& baseline, const std::string& trace, const CheckOptions& options);

}  // namespace ulpscope::gate
