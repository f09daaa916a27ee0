#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output_files.h"
#include "cli/process.h"
#include "cli/record_command.h"
#include "cli/terminal.h"
#include "cli/trace_summary.h"
#include "cli/unrecorded.h"
#include "cli/verb.h"
#include "diff/render/format.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

constexpr size_t kFilesShown = 16;

std::string shown(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::proximate(path, error);
  const std::string text = relative.string();
  return error || text.starts_with("../..") ? path.string() : text;
}

bool isOfRank(const std::filesystem::path& path) {
  return path.stem().extension().string().starts_with(".rank");
}

/// What a trace says of its reference; "" where it followed none.
std::string divergenceText(const Reader& trace) {
  const std::string against = trace.meta("against");
  if (against.empty()) return {};
  const auto found = nlohmann::json::parse(trace.meta("divergence"), nullptr, false);
  if (!found.is_object()) return fmt::format("no op parts from {}", shown(against));
  OpTable table;
  const OpId id{found.value("op", int64_t{0})};
  trace.readOps(id, 1, table);
  const std::string name =
      table.ops.empty() || table.ops[0].id != id ? "" : " " + trace.schema(table.ops[0].schema).name;
  return fmt::format("#{}{} parts from {} (#{}): {}{}", id.value, name, shown(against),
                     found.value("reference", int64_t{0}),
                     found.value("inputs", "") == "agree"
                         ? "all that it read is there"
                         : "it read what is not there, an input of the program or of an op without a "
                           "partner",
                     found.value("captured", false) ? "; its values are captured" : "");
}

void report(const RecordFlags& flags, const OutputFiles& files,
            const std::vector<std::string>& command, const ExitStatus& status) {
  const Paint paint{colourOn(STDERR_FILENO)};
  const std::string tag = paint.dim("ulpscope:");
  const std::vector<std::filesystem::path> written = files.written();
  if (written.empty()) {
    fmt::print(stderr, "{} nothing was recorded: {}\n{} next: ulpscope doctor\n", tag,
               whyNothingRecorded(command, status), tag);
    return;
  }
  for (size_t i = 0; i < std::min(written.size(), kFilesShown); ++i) {
    std::string text, divergence;
    try {
      const Reader trace(written[i].string());
      text = traceSummary(trace);
      divergence = divergenceText(trace);
    } catch (const TraceError& error) {
      text = error.what();
    }
    std::error_code error;
    const auto bytes = double(std::filesystem::file_size(written[i], error));
    fmt::print(stderr, "{} {}: {} ({:.1f} MiB)\n", tag, paint.bold(shown(written[i])), text,
               error ? 0.0 : bytes / (1024 * 1024));
    if (!divergence.empty()) fmt::print(stderr, "{} {}\n", tag, divergence);
  }
  if (written.size() > kFilesShown) {
    fmt::print(stderr, "{} and {} more files of this run beside it\n", tag,
               written.size() - kFilesShown);
  }
  const bool ranks = written.size() > 1 && std::all_of(written.begin(), written.end(), isOfRank);
  const std::string first = shellQuoted(shown(written[0]));
  fmt::print(stderr, "{} next: ulpscope {}\n", tag,
             ranks ? "ranks " + shellQuoted(shown(written[0].parent_path()))
             : flags.against.empty()
                 ? "show " + first
                 : fmt::format("diff {} {}", shellQuoted(flags.against), first));
}

/// The reference must be there, and stay.
void checkReference(const RecordFlags& flags) {
  if (flags.against.empty()) {
    if (!flags.onDivergence.empty()) {
      throw CommandError("--on-divergence needs a trace to compare with; add --against TRACE");
    }
    return;
  }
  const Reader reference(flags.against);
  std::error_code error;
  if (std::filesystem::equivalent(flags.against, flags.output, error)) {
    throw CommandError("-o would replace the trace of --against; give another name");
  }
}

int record(const RecordFlags& flags, const std::vector<std::string>& command) {
  if (command.empty()) {
    throw CommandError("no command to run; put it after --, as in: ulpscope record -- python train.py");
  }
  checkReference(flags);
  const OutputFiles files(flags.output.empty() ? OutputFiles::defaultName() : flags.output);
  const ExitStatus status = recordCommand(flags, files, command);
  if (!flags.quiet || files.written().empty()) report(flags, files, command, status);
  endLike(status);
}

}  // namespace

Action defineRecord(CLI::App& app) {
  auto flags = std::make_shared<RecordFlags>();
  app.add_option("-o,--output", flags->output,
                 "the trace to write, or a folder (FOLDER/) that takes one run, a trace a rank (default: run-1.ulps, or the first free number after it). A trace "
                 "of that name is replaced, any other file is not. Other processes and ranks of the "
                 "command write their own file beside it");
  app.add_option("--inputs", flags->inputs,
                 "fingerprint the inputs of ops: always, tracked (only those that a recorded op did "
                 "not write, or that may have changed since) or off")
      ->check(CLI::IsMember({"always", "tracked", "off"}))
      ->capture_default_str();
  app.add_option("--level", flags->level,
                 "what a fingerprint holds: digest, stats (and statistics) or full (and a sketch, from "
                 "which diff estimates distances)")
      ->check(CLI::IsMember({"digest", "stats", "full"}))
      ->capture_default_str();
  app.add_flag("--stacks", flags->stacks, "whole stacks, not only the frame that called torch");
  app.add_flag("-q,--quiet", flags->quiet, "say nothing of the trace, unless there is none");
  app.add_option("--include", flags->include,
                 "fingerprint only ops whose name matches this glob (may be repeated)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--exclude", flags->exclude, "leave out ops whose name matches this glob (may be repeated)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--steps", flags->steps, "fingerprint in steps A <= step < B only; A:, :B and A:B")
      ->check([](const std::string& text) -> std::string {
        const size_t colon = text.find(':');
        const auto digits = [](std::string_view part) {
          return part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
        };
        if (colon != std::string::npos && text.size() > 1 &&
            digits(std::string_view(text).substr(0, colon)) &&
            digits(std::string_view(text).substr(colon + 1))) {
          return {};
        }
        return "give a range of steps as A:B, as in --steps 0:3";
      });
  app.add_option("--capture", flags->capture,
                 "whose operands' values to keep, for microscope, extract and values: first (of each "
                 "call site of a compiled kernel, its first call), none, or a glob on names of ops: "
                 "'aten::elu' takes the compiled kernels that compute it, too (may be repeated; "
                 "default: first)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--capture-limit", flags->captureLimit,
                 "keep at most so many bytes of values, counted before compression, 512 for a smaller "
                 "tensor (64MiB, 2GB, ...). A call that does not fit is left out and the trace says so")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB");
  app.add_option("--against", flags->against,
                 "a trace to compare with while the command runs, op by op: what the first op that parts "
                 "from it read is then still at hand (see --on-divergence)");
  app.add_option("--on-divergence", flags->onDivergence,
                 "at the first op that parts from --against: capture keeps its operands' values, and "
                 "those of later ops that part by themselves; stop ends the program there with exit "
                 "status 100; pdb opens Python's debugger in the program's frame (default: capture)")
      ->check(CLI::IsMember({"capture", "stop", "pdb"}));
  return [flags](const Invocation& invocation) { return record(*flags, invocation.command); };
}

}  // namespace ulpscope
