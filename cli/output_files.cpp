#include "cli/output_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/verb.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

void checkWritable(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw CommandError(fmt::format("there is no folder {}; create it or choose another with -o",
                                   folder.string()));
  }
  // Trying is the only sure test: root passes every permission check, read-only mounts do not.
  std::string probe = (folder / ".ulpscope-XXXXXX").string();
  const int descriptor = mkstemp(probe.data());
  if (descriptor < 0) {
    throw CommandError(fmt::format("can't write in {} ({}); choose another place with -o",
                                   folder.string(), std::strerror(errno)));
  }
  close(descriptor);
  unlink(probe.c_str());
}

void checkReplaceable(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return;
  if (fs::is_directory(file, error)) {
    throw CommandError(fmt::format("{} is a folder; name a file in it with -o", file.string()));
  }
  if (fs::is_regular_file(file, error) && fs::file_size(file, error) == 0) return;
  try {
    Reader trace(file.string());
  } catch (const TraceError& problem) {
    if (problem.code() == TraceError::Code::newer || problem.code() == TraceError::Code::corrupt) {
      return;  // still a trace
    }
    throw CommandError(fmt::format("{} exists and is not a trace, so it stays; choose another name "
                                   "with -o", file.string()));
  }
}

/// DIR/run.ulps; makes the folder.
fs::path runIn(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw CommandError(fmt::format("can't make the folder {} ({}); choose another place with -o",
                                   folder.string(), error.message()));
  }
  return folder / "run.ulps";
}

}  // namespace

OutputFiles::OutputFiles(const std::string& file) {
  std::error_code error;
  file_ = fs::absolute(file, error).lexically_normal();
  const bool folder = file.ends_with('/') || fs::is_directory(file_, error);
  if (folder) file_ = runIn(file_);
  checkWritable(file_.parent_path());
  checkReplaceable(file_);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    fs::remove(file_.string() + suffix, error);
    if (error) {
      throw CommandError(fmt::format("can't replace {} ({}); choose another name with -o",
                                     file_.string(), error.message()));
    }
  }
  before_ = siblings();
  if (!folder) return;
  // A folder holds one run: ranks that an earlier run had more would be taken for this one's.
  for (const auto& [path, stamp] : before_) {
    try {
      Reader trace(path.string());
    } catch (const TraceError&) {
      continue;
    }
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path.string() + suffix, error);
  }
  before_ = siblings();
}

std::map<fs::path, OutputFiles::Stamp> OutputFiles::siblings() const {
  const std::string stem = file_.stem().string() + ".";
  const std::string extension = file_.extension().string();
  std::map<fs::path, Stamp> found;
  std::error_code error;
  for (fs::directory_iterator entry(file_.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool ours = entry->path() == file_ ||
                      (name.starts_with(stem) && entry->path().extension() == extension);
    struct stat status {};
    if (ours && stat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      found[entry->path()] = {status.st_ino,
                              int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
    }
  }
  return found;
}

std::vector<fs::path> OutputFiles::written() const {
  std::vector<fs::path> paths;
  for (const auto& [path, stamp] : siblings()) {
    const auto old = before_.find(path);
    if (old != before_.end() && old->second == stamp) continue;
    if (path == file_) {
      paths.insert(paths.begin(), path);
    } else {
      paths.push_back(path);
    }
  }
  return paths;
}

std::string OutputFiles::defaultName() {
  for (int number = 1;; ++number) {
    const std::string name = fmt::format("run-{}.ulps", number);
    std::error_code error;
    if (!fs::exists(name, error)) return name;
  }
}

}  // namespace ulpscope
