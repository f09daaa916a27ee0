#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/torch_python.h"
#include "cli/verb.h"
#include "diff/render/format.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

struct MicroscopeFlags {
  std::string trace;
  std::vector<int64_t> ops;
  std::string format = "text";
};

int microscope(const MicroscopeFlags& flags) {
  const TorchPython python = TorchPython::of(flags.trace);
  std::vector<std::string> arguments = {"open", "--format", flags.format, flags.trace};
  for (const int64_t op : flags.ops) arguments.push_back(std::to_string(op));
  const ExitStatus status =
      runCommand(python.command("ulpscope.microscope", arguments), python.environment);
  if (status.shell() <= 1 && flags.format == "text") {
    fmt::print("\nnext: ulpscope extract {} {} -o repro\n", shellQuoted(flags.trace), flags.ops[0]);
  }
  return status.shell();
}

}  // namespace

Action defineMicroscope(CLI::App& app) {
  auto flags = std::make_shared<MicroscopeFlags>();
  app.add_option("TRACE", flags->trace, "the trace of the compiled run")->required();
  app.add_option("OP", flags->ops, "numbers of compiled kernels, as `ulpscope show` and diff print them")
      ->required();
  app.add_option("--format", flags->format, "text or json (docs/microscope.md)")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [flags](const Invocation&) { return microscope(*flags); };
}

}  // namespace ulpscope
