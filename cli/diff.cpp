#include "diff/diff.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "cli/open_kernels.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "diff/ranks/rank_run.h"
#include "diff/ranks/run_diff.h"
#include "diff/render/render.h"

namespace ulpscope {
namespace {

struct DiffFlags {
  std::string a;
  std::string b;
  std::string format = "text";
  std::string output;
  bool noMicroscope = false;
  DiffOptions options;
};

/// -o must not destroy one of the traces.
void checkOutput(const DiffFlags& flags) {
  for (const std::string& trace : {flags.a, flags.b, flags.options.noiseFile}) {
    std::error_code error;
    if (!trace.empty() && std::filesystem::equivalent(flags.output, trace, error)) {
      throw CommandError(fmt::format("-o {} would overwrite a trace that is compared; choose another "
                                     "name", flags.output));
    }
  }
}

bool isFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

DiffResult diffFolders(const DiffFlags& flags) {
  try {
    return diffRuns(flags.a, flags.b, flags.options);
  } catch (const RunFolderError& error) {
    throw CommandError(error.what());
  }
}

int runDiff(DiffFlags& flags) {
  if (!flags.output.empty()) checkOutput(flags);
  const bool folders = isFolder(flags.a) && isFolder(flags.b);
  DiffResult result = [&] {
    Progress bar("comparing");
    flags.options.progress = [&bar](double share) {
      bar.update(share);
      return true;
    };
    if (folders) return diffFolders(flags);
    return diff(flags.a, flags.b, flags.options);
  }();
  if (!flags.noMicroscope && !folders) openKernels(result, isatty(STDERR_FILENO) != 0);

  // The next command takes single traces: those of the rank that is told.
  const std::string nameA = folders ? result.a.path : flags.a;
  const std::string nameB = folders ? result.b.path : flags.b;
  if (flags.output.empty()) {
    writeReport(flags.format, result, std::cout, {colourOn(STDOUT_FILENO), nameA, nameB});
    std::cout.flush();
    if (!std::cout) throw CommandError("can't write the answer to the output; is its disk full?");
  } else {
    std::ostringstream content;
    writeReport(flags.format, result, content, {false, nameA, nameB});
    writeReportFile(flags.output, content.str());
    fmt::print(stderr, "ulpscope: {}; written to {}\n", name(result.verdict), flags.output);
  }
  if (flags.format != "text" && result.verdict == Verdict::notComparable) {
    fmt::print(stderr, "ulpscope: diff: not comparable: {}\n", result.notComparableReason);
  }
  return exitStatus(result.verdict);
}

}  // namespace

Action defineDiff(CLI::App& app) {
  auto flags = std::make_shared<DiffFlags>();
  app.add_option("A", flags->a, "the reference trace, or the folder of a run of many ranks")->required();
  app.add_option("B", flags->b, "the trace to judge, or a folder")->required();
  app.add_option("--format", flags->format,
                 "text; json (docs/diff.schema.json); html (one page for a browser); markdown, junit, "
                 "github (annotations) and sarif for CI")
      ->check(CLI::IsMember(reportFormats()))
      ->capture_default_str();
  app.add_option("-o,--output", flags->output, "write to this file");
  app.add_option("--rtol", flags->options.tolerance.rtol,
                 "accept this relative L2 error of an operand")->check(CLI::NonNegativeNumber);
  app.add_option("--atol", flags->options.tolerance.atol,
                 "accept this estimated root-mean-square difference")->check(CLI::NonNegativeNumber);
  app.add_option("--ulp", flags->options.tolerance.ulp,
                 "accept this estimated root-mean-square difference in units in the last place")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--map", flags->options.mapFile, "a file that pairs ops by hand (docs/alignment.md)");
  app.add_option("--rules", flags->options.rulesFile,
                 "a file of tolerances for some ops, modules, phases or dtypes (docs/alignment.md)");
  app.add_flag("--first", flags->options.firstOnly,
               "stop after the first steps that differ, without reading the rest");
  app.add_option("--noise", flags->options.noiseFile,
                 "a second run of A: what differs between the two is the noise floor");
  app.add_flag("--no-microscope", flags->noMicroscope,
               "do not open a divergent kernel to find the op inside, which compiles its ops again");
  return [flags](const Invocation&) { return runDiff(*flags); };
}

}  // namespace ulpscope
