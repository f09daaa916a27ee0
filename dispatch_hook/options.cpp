#include <cstdlib>
#include <string>

#include "dispatch_hook/glob.h"
#include "dispatch_hook/recorder.h"

namespace ulpscope {

bool globMatches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0;
  size_t star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Separated by ':', but the "::" of "aten::add" belongs to a glob.
std::vector<std::string> globs(const std::string& text) {
  std::vector<std::string> result;
  std::string glob;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ':' && i + 1 < text.size() && text[i + 1] == ':') {
      glob += "::";
      ++i;
    } else if (text[i] == ':') {
      if (!glob.empty()) result.push_back(glob);
      glob.clear();
    } else {
      glob += text[i];
    }
  }
  if (!glob.empty()) result.push_back(glob);
  return result;
}

int64_t number(const std::string& text, int64_t otherwise) {
  if (text.empty()) return otherwise;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  return *end == '\0' ? value : otherwise;
}

}  // namespace

RecorderOptions optionsFromEnvironment() {
  RecorderOptions options;
  options.path = variable("ULPSCOPE_OUTPUT");
  options.replace = false;
  const std::string inputs = variable("ULPSCOPE_INPUTS");
  if (inputs == "tracked") options.inputs = InputMode::tracked;
  if (inputs == "off") options.inputs = InputMode::off;
  const std::string level = variable("ULPSCOPE_LEVEL");
  if (level == "digest" || level == "0") options.level = 0;
  if (level == "stats" || level == "statistics" || level == "1") options.level = 1;
  const std::string stacks = variable("ULPSCOPE_STACKS");
  options.stacks = !stacks.empty() && stacks != "0";
  options.include = globs(variable("ULPSCOPE_INCLUDE"));
  options.exclude = globs(variable("ULPSCOPE_EXCLUDE"));
  const std::string steps = variable("ULPSCOPE_STEPS");
  if (!steps.empty()) {
    const size_t colon = steps.find(':');
    options.firstStep = number(steps.substr(0, colon), 0);
    options.lastStep = colon == std::string::npos ? options.firstStep + 1
                                                  : number(steps.substr(colon + 1), INT64_MAX);
  }
  const std::string capture = variable("ULPSCOPE_CAPTURE");
  if (!capture.empty()) {
    options.capture = globs(capture);
    options.captureFirst = std::erase(options.capture, "first") != 0;
    std::erase(options.capture, "none");
  }
  options.captureLimit = number(variable("ULPSCOPE_CAPTURE_LIMIT"), options.captureLimit);
  options.against = variable("ULPSCOPE_AGAINST");
  const std::string then = variable("ULPSCOPE_ON_DIVERGENCE");
  if (then == "stop") options.onDivergence = OnDivergence::stop;
  if (then == "pdb") options.onDivergence = OnDivergence::pdb;
  return options;
}

}  // namespace ulpscope
