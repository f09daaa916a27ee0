#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ulpscope {

/// The trace files of one `record`: FILE itself, and beside it what other processes of the command
/// write (stem.PID.ulps, stem.rankN.ulps).
class OutputFiles {
 public:
  /// A FILE that ends in '/' or is a folder stands for run.ulps in it; the folder is made, and takes
  /// one run: traces of an earlier one there (run.ulps, run.*.ulps) go. Otherwise:
  /// makes sure that FILE can be written and takes an older trace of that name away, so that what is
  /// there afterwards is of this run. Throws CommandError where the folder is missing or not
  /// writable, or where FILE exists and is no trace of ours.
  explicit OutputFiles(const std::string& file);

  const std::filesystem::path& file() const { return file_; }  ///< absolute
  std::vector<std::filesystem::path> written() const;  ///< traces that are new since construction

  /// run-1.ulps, or the first free number after it.
  static std::string defaultName();

 private:
  struct Stamp {
    uint64_t inode = 0;
    int64_t changed = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  std::map<std::filesystem::path, Stamp> siblings() const;

  std::filesystem::path file_;
  std::map<std::filesystem::path, Stamp> before_;
};

}  // namespace ulpscope
