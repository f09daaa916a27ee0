#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "cli/installation.h"
#include "cli/process.h"
#include "cli/verb.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

struct ViewFlags {
  std::vector<std::string> traces;
  std::string map, rules, noise, rtol, atol, ulp;
};

int view(const ViewFlags& flags) {
  const std::vector<std::string>& traces = flags.traces;
  const Installation installation = Installation::find();
  if (installation.viewer.empty()) {
    throw CommandError("the viewer is not installed; build with -DULPSCOPE_BUILD_GUI=ON (Qt 6), or "
                       "use `ulpscope diff` and `ulpscope show`");
  }
  if (!isSet("DISPLAY") && !isSet("WAYLAND_DISPLAY") &&
      !isSet("QT_QPA_PLATFORM")) {
    throw CommandError("there is no display (DISPLAY and WAYLAND_DISPLAY are not set); log in with "
                       "ssh -X, or use `ulpscope diff` and `ulpscope show`");
  }
  for (const std::string& trace : traces) Reader check(trace);
  std::vector<std::string> arguments = {installation.viewer};
  arguments.insert(arguments.end(), traces.begin(), traces.end());
  for (const auto& [flag, value] :
       {std::pair("--map", &flags.map), {"--rules", &flags.rules}, {"--noise", &flags.noise},
        {"--rtol", &flags.rtol}, {"--atol", &flags.atol}, {"--ulp", &flags.ulp}}) {
    if (!value->empty()) arguments.insert(arguments.end(), {flag, *value});
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  throw CommandError(fmt::format("{} can't be started: {}", installation.viewer, std::strerror(errno)));
}

}  // namespace

Action defineView(CLI::App& app) {
  auto flags = std::make_shared<ViewFlags>();
  app.add_option("TRACES", flags->traces, "one trace, or two to compare")->required()->expected(1, 2);
  app.add_option("--map", flags->map, "a file that pairs ops by hand (docs/alignment.md)");
  app.add_option("--rules", flags->rules, "a file of tolerances for some ops (docs/alignment.md)");
  app.add_option("--noise", flags->noise, "a second run of A: what differs there is the noise floor");
  app.add_option("--rtol", flags->rtol, "tolerance on the relative error")->check(CLI::Number);
  app.add_option("--atol", flags->atol, "tolerance on the absolute error")->check(CLI::Number);
  app.add_option("--ulp", flags->ulp, "tolerance in ulps")->check(CLI::Number);
  return [flags](const Invocation&) { return view(*flags); };
}

}  // namespace ulpscope
