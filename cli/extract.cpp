#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/torch_python.h"
#include "cli/verb.h"
#include "diff/render/format.h"

namespace ulpscope {
namespace {

struct ExtractFlags {
  std::string trace;
  int64_t op = 0;
  std::string folder;
};

int extract(const ExtractFlags& flags) {
  const TorchPython python = TorchPython::of(flags.trace);
  const ExitStatus status =
      runCommand(python.command("ulpscope.microscope", {"extract", flags.trace,
                                                        std::to_string(flags.op), flags.folder}),
                 python.environment);
  if (status.shell() == 0) {
    fmt::print("\nnext: {} {}/repro.py\n", shellQuoted(python.program), shellQuoted(flags.folder));
  }
  return status.shell();
}

}  // namespace

Action defineExtract(CLI::App& app) {
  auto flags = std::make_shared<ExtractFlags>();
  app.add_option("TRACE", flags->trace, "the trace of the compiled run")->required();
  app.add_option("OP", flags->op, "number of a compiled kernel, as `ulpscope show` and diff print it")
      ->required();
  app.add_option("-o,--output", flags->folder, "the folder to write to; it is made")->required();
  return [flags](const Invocation&) { return extract(*flags); };
}

}  // namespace ulpscope
