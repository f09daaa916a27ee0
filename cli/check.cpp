#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/record_command.h"
#include "cli/torch_python.h"
#include "cli/unrecorded.h"
#include "cli/verb.h"
#include "diff/render/format.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

struct CheckFlags {
  RecordFlags record;
  std::string format = "text";
};

/// Of the files of a run the one that has compiled kernels; several: the first, and says so.
std::string withKernels(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> found;
  for (const std::filesystem::path& file : files) {
    if (Reader(file.string()).coverage().kernels > 0) found.push_back(file.string());
  }
  if (found.size() > 1) {
    fmt::print(stderr, "ulpscope: check: {} processes ran compiled kernels; this is about {}\n",
               found.size(), found[0]);
  }
  return found.empty() ? std::string() : found[0];
}

int check(const CheckFlags& flags, const std::vector<std::string>& command) {
  if (command.empty()) {
    throw CommandError("no command to run; put it after --, as in: ulpscope check -- python train.py");
  }
  const OutputFiles files(flags.record.output.empty() ? OutputFiles::defaultName()
                                                      : flags.record.output);
  const ExitStatus ran = recordCommand(flags.record, files, command);
  if (files.written().empty()) {
    throw CommandError("nothing was recorded: " + whyNothingRecorded(command, ran));
  }
  if (ran.shell() != 0) {
    fmt::print(stderr, "ulpscope: check: the command ended with status {}; this is about what it ran\n",
               ran.shell());
  }
  const std::string trace = withKernels(files.written());
  if (trace.empty()) {
    throw CommandError("the command ran no compiled kernel; `ulpscope show` has its ops: does it call "
                       "torch.compile with Inductor?");
  }
  const TorchPython python = TorchPython::of(trace);
  const ExitStatus status = runCommand(
      python.command("ulpscope.microscope", {"check", "--format", flags.format, trace}),
      python.environment);
  if (status.shell() == 1 && flags.format == "text") {
    fmt::print("\nnext: ulpscope microscope {} OP, or ulpscope extract {} OP -o repro, with a number "
               "from above\n", shellQuoted(trace), shellQuoted(trace));
  } else if (status.shell() == 0 && flags.format == "text") {
    fmt::print("\nnext: ulpscope show {}\n", shellQuoted(trace));
  }
  return status.shell();
}

}  // namespace

Action defineCheck(CLI::App& app) {
  auto flags = std::make_shared<CheckFlags>();
  app.add_option("-o,--output", flags->record.output,
                 "keep the trace under this name (default: run-1.ulps, or the first free number after it)");
  app.add_option("--capture-limit", flags->record.captureLimit,
                 "keep at most so many bytes of what the kernels read (64MiB, 2GB, ...)")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB");
  app.add_option("--format", flags->format, "text or json (docs/microscope.md)")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [flags](const Invocation& invocation) { return check(*flags, invocation.command); };
}

}  // namespace ulpscope
