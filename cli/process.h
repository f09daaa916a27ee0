#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ulpscope {

/// The environment of a child, starting from ours.
class ChildEnvironment {
 public:
  ChildEnvironment();
  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  void unset(const std::string& name) { values_.erase(name); }
  std::string get(const std::string& name) const;  ///< "" where absent
  bool has(const std::string& name) const { return values_.count(name) != 0; }
  std::vector<std::string> list() const;  ///< "NAME=value"

 private:
  std::map<std::string, std::string> values_;
};

struct ExitStatus {
  int code = 0;    ///< where it ended by itself
  int signal = 0;  ///< where it was killed: the signal; else 0
  /// As a shell has it: code, or 128 + signal.
  int shell() const { return signal != 0 ? 128 + signal : code; }
};

/// Runs a command to its end in our terminal and process group. Signals that ask us to end go to
/// the command; we live on to report. Throws CommandError where it can't be started.
ExitStatus runCommand(const std::vector<std::string>& command, const ChildEnvironment& environment);

/// What a command said, and how it ended.
struct Captured {
  enum class End { good, failed, late };
  End end = End::failed;  ///< failed: it did not start, or its status is not 0
  std::string output;     ///< its stdout up to that end
};
/// Runs a short command, its stderr dropped. One that takes longer than `seconds` is killed.
Captured captureCommand(const std::vector<std::string>& command,
                        const ChildEnvironment& environment, int seconds);

/// Ends this process as the command ended: the same status, or killed by the same signal.
[[noreturn]] void endLike(const ExitStatus& status);

/// Is an environment variable there and not empty?
bool isSet(const char* variable);

/// Where PATH finds a program, or the program itself where it has a slash; "" where nowhere.
std::string findProgram(const std::string& program);

}  // namespace ulpscope
