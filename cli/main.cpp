#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "cli/manual.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "diff/render/format.h"
#include "store/error.h"

namespace ulpscope {
namespace {

int fail(std::string_view line) {
  const Paint paint{colourOn(STDERR_FILENO)};
  fmt::print(stderr, "{} {}\n", paint.bad("ulpscope:"), line);
  return kUsageOrToolError;
}

std::string overview() {
  std::string text =
      "ulpscope finds the op at which two runs of a PyTorch or LibTorch program part.\n\n"
      "usage: ulpscope VERB ...\n\nverbs:\n";
  for (const Verb& verb : verbs()) text += fmt::format("  {:<10}  {}\n", verb.name, verb.summary);
  text +=
      "\nfor example:\n"
      "  ulpscope record -o eager.ulps    -- python train.py\n"
      "  ulpscope record -o compiled.ulps -- python train.py --compile\n"
      "  ulpscope diff eager.ulps compiled.ulps\n"
      "\n`ulpscope VERB --help` tells the flags of one verb, with examples; `ulpscope help --man` prints\n"
      "the manual page, `ulpscope help --completion=bash` (zsh, fish) what a shell completes.\n"
      "Exit status of diff: 0 the runs agree, 1 numbers differ, 3 structure differs, 4 not\n"
      "comparable; 2 is a usage or tool error of any verb. record gives back the command's own.\n";
  return text;
}

const Verb* findVerb(std::string_view name) {
  const auto all = verbs();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Verb& verb) { return verb.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string verbNames() {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// CLI11's messages can be of several lines; users get one.
std::string oneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

int runVerb(const Verb& verb, std::vector<std::string> arguments) {
  Invocation invocation;
  if (verb.takesCommand) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    if (dashes != arguments.end()) {
      invocation.command.assign(dashes + 1, arguments.end());
      arguments.erase(dashes, arguments.end());
    }
  }

  CLI::App app(fmt::format("{}{}", verb.summary, verb.takesCommand ? "\n(-- COMMAND... ends the flags)" : ""),
               fmt::format("ulpscope {}", verb.name));
  app.footer(fmt::format("Examples:\n{}", verb.examples));
  app.get_formatter()->column_width(32);
  const Action action = verb.define(app);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return fail(fmt::format("{}: {}; see `ulpscope {} --help`", verb.name, oneLine(error.what()),
                            verb.name));
  }
  try {
    return action(invocation);
  } catch (const CommandError& error) {
    return fail(fmt::format("{}: {}", verb.name, error.what()));
  } catch (const TraceError& error) {
    return fail(fmt::format("{}: {}", verb.name, error.what()));
  } catch (const std::bad_alloc&) {
    return fail(fmt::format("{}: out of memory; try a part of the run (--steps when recording)",
                            verb.name));
  } catch (const std::exception& error) {
    return fail(fmt::format("{}: {}", verb.name, oneLine(error.what())));
  }
}

int run(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    fmt::print("{}", overview());
    return 0;
  }
  if (arguments[0] == "--version") {
    fmt::print("ulpscope {}\n", ULPSCOPE_VERSION);
    return 0;
  }
  if (arguments[0] == "help") {
    if (arguments.size() < 2) {
      fmt::print("{}", overview());
      return 0;
    }
    if (arguments[1] == "--man") {
      writeManPage(std::cout);
      return 0;
    }
    if (constexpr std::string_view kFlag = "--completion="; arguments[1].starts_with(kFlag)) {
      if (writeCompletion(arguments[1].substr(kFlag.size()), std::cout)) return 0;
      return fail("there is completion for bash, zsh and fish, as in --completion=bash");
    }
    arguments = {arguments[1], "--help"};
  }
  const Verb* verb = findVerb(arguments[0]);
  if (verb == nullptr) {
    return fail(fmt::format("no verb '{}'; there are {} (see `ulpscope --help`)", arguments[0],
                            verbNames()));
  }
  arguments.erase(arguments.begin());
  return runVerb(*verb, std::move(arguments));
}

}  // namespace
}  // namespace ulpscope

int main(int argc, char** argv) {
  return ulpscope::run(std::vector<std::string>(argv + 1, argv + argc));
}
