#include "diff/environment.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace ulpscope {
namespace {

/// Keys that say which run it was, not how it ran.
bool isIncidental(std::string_view key) {
  static constexpr std::array kWords = {"pid",      "time",    "date",     "hostname", "cwd",
                                        "path",     "command", "argv",     "user",     "duration",
                                        "cache_dir"};
  // A whole word of the key: "start_time", "process.pid", not "timeout".
  size_t begin = 0;
  while (begin <= key.size()) {
    const size_t end = std::min(key.find_first_of("._- ", begin), key.size());
    const std::string_view word = key.substr(begin, end - begin);
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
    begin = end + 1;
  }
  return key.ends_with("cache_dir") || key.ends_with("_PATH") || key == "PATH";
}

}  // namespace

std::vector<EnvironmentDifference> compareEnvironments(const std::vector<KeyValue>& a,
                                                       const std::vector<KeyValue>& b) {
  std::map<std::string, EnvironmentDifference> all;
  for (const KeyValue& entry : a) all[entry.key] = {entry.key, entry.value, ""};
  for (const KeyValue& entry : b) {
    EnvironmentDifference& difference = all[entry.key];
    difference.key = entry.key;
    difference.b = entry.value;
  }
  std::vector<EnvironmentDifference> result;
  for (auto& [key, difference] : all) {
    if (difference.a != difference.b && !isIncidental(key)) result.push_back(std::move(difference));
  }
  return result;
}

}  // namespace ulpscope
