#pragma once

#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ulpscope {

inline constexpr int kUsageOrToolError = 2;

/// A failure that ends a verb: one line for stderr that says what to do. Exit status 2.
class CommandError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a verb gets beside its flags.
struct Invocation {
  std::vector<std::string> command;  ///< all after "--"; verbs that take none never see it filled
};

/// Runs a verb after its flags were parsed; returns the exit status. May throw CommandError or
/// TraceError, both of which main prints.
using Action = std::function<int(const Invocation&)>;

struct Verb {
  const char* name;
  const char* summary;   ///< one line of `ulpscope --help`
  const char* examples;  ///< end of `ulpscope VERB --help`, a line each
  bool takesCommand;     ///< "-- COMMAND..." follows the flags
  Action (*define)(CLI::App& app);  ///< adds the flags; what they fill lives in the Action
};

/// All verbs, in the order of the help.
std::span<const Verb> verbs();

// One file each.
Action defineRecord(CLI::App& app);
Action defineRepeat(CLI::App& app);
Action defineDiff(CLI::App& app);
Action defineExplain(CLI::App& app);
Action defineShow(CLI::App& app);
Action defineValues(CLI::App& app);
Action defineCheck(CLI::App& app);
Action defineMicroscope(CLI::App& app);
Action defineExtract(CLI::App& app);
Action defineRanks(CLI::App& app);
Action defineBisect(CLI::App& app);
Action defineView(CLI::App& app);
Action defineDoctor(CLI::App& app);
Action defineGate(CLI::App& app);

}  // namespace ulpscope
