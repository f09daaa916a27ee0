#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diff/result.h"
#include "gate/baseline.h"

namespace ulpscope::gate {

/// The facts of an environment that change bits by themselves: torch's build, the CPU's model and
/// instruction set, the math libraries and what steers them, threads. In order of key. Settings that
/// the program makes (precision, determinism, compilation) are not among them: if those change, the
/// program has changed.
std::vector<KeyValue> keyFacts(const std::vector<KeyValue>& environment);

/// A short name for an environment: "torch2.13.0-AVX512-2threads-1a2b3c4d". Equal facts, equal name.
std::string environmentKey(const std::vector<KeyValue>& environment);

/// The baselines of one gate: a folder to commit.
///
///   KEY.baseline     one for each environment in which the gate was accepted
///   history.md       when, where and why each was accepted
///   rules.toml       tolerances, if there are any (docs/alignment.md)
///   checked/         what the last check saw, until it is accepted; not to commit (.gitignore)
class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  struct Entry {
    std::string key;
    std::filesystem::path file;
    std::vector<KeyValue> environment;
  };
  /// All baselines, in order of key. Files that are no baselines are left out.
  std::vector<Entry> baselines() const;

  /// The baseline of exactly this environment, else the one with the fewest differing facts (of
  /// several the first by key); none where the folder holds none.
  std::optional<Entry> nearest(const std::vector<KeyValue>& environment) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path baselineFile(const std::string& key) const { return path_ / (key + ".baseline"); }
  std::filesystem::path checkedFile() const { return path_ / "checked" / "run.baseline"; }
  std::filesystem::path checkedSummary() const { return path_ / "checked" / "summary.md"; }
  std::filesystem::path historyFile() const { return path_ / "history.md"; }
  std::string rulesFile() const;  ///< "" where there is none

  /// Writes atomically: the old file or the new one, never a part. Makes the folders. Throws
  /// TraceError where that fails.
  static void writeFile(const std::filesystem::path& file, const std::string& content);
  void ignoreChecked() const;  ///< writes .gitignore where it is missing

 private:
  std::filesystem::path path_;
};

}  // namespace ulpscope::gate
