#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cli/installation.h"
#include "cli/process.h"
#include "cli/verb.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

int view(const std::vector<std::string>& traces) {
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
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  throw CommandError(fmt::format("{} can't be started: {}", installation.viewer, std::strerror(errno)));
}

}  // namespace

Action defineView(CLI::App& app) {
  auto traces = std::make_shared<std::vector<std::string>>();
  app.add_option("TRACES", *traces, "one trace, or two to compare")->required()->expected(1, 2);
  return [traces](const Invocation&) { return view(*traces); };
}

}  // namespace ulpscope
