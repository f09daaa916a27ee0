#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "cli/installation.h"
#include "cli/process.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "diff/render/format.h"
#include "diff/render/phrases.h"
#include "gate/check.h"
#include "gate/encode.h"
#include "gate/summary.h"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kOpsShown = 15;
constexpr const char* kDefaultFolder = "ulpscope-gate";

struct GateFlags {
  std::string folder = kDefaultFolder;
  std::string trace;  ///< compare this one instead of recording a command
  std::string format = "text";
  std::string output;
  std::vector<std::string> reports;  ///< FORMAT=FILE
  std::string reason;
  gate::CheckOptions options;
};

std::string dirFlag(const GateFlags& flags) {
  return flags.folder == kDefaultFolder ? "" : " --dir " + shellQuoted(flags.folder);
}

/// While it lives, what programs print goes to stderr: stdout is the answer's, for whoever parses it.
class StdoutToStderr {
 public:
  StdoutToStderr() : saved_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    if (saved_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~StdoutToStderr() {
    if (saved_ < 0) return;
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
  }
  StdoutToStderr(const StdoutToStderr&) = delete;
  StdoutToStderr& operator=(const StdoutToStderr&) = delete;

 private:
  const int saved_;
};

/// The trace of one run of a command, or the one that --trace names.
struct Run {
  std::string trace;
  std::shared_ptr<gate::TemporaryFolder> files;  ///< holds a recorded one
};

/// `expected`: what the gate recorded, to run where no command is given.
Run obtain(const GateFlags& flags, std::vector<std::string> command,
           const std::vector<std::string>& expected) {
  Run run;
  run.trace = flags.trace;
  if (!flags.trace.empty()) {
    if (!command.empty()) throw CommandError("give a command or --trace, not both");
    return run;
  }
  if (command.empty()) command = expected;
  if (command.empty()) {
    throw CommandError("no command to run; put it after --, as in: ulpscope gate record -- python "
                       "train.py; or name a trace with --trace");
  }
  run.files = std::make_shared<gate::TemporaryFolder>();
  run.trace = (run.files->path() / "run.ulps").string();
  // By way of our own `record`: one way to start a program, and its messages where nothing came.
  std::vector<std::string> recording = {Installation::find().program, "record", "--quiet",
                                        "-o", run.trace, "--"};
  recording.insert(recording.end(), command.begin(), command.end());
  const ExitStatus status = [&] {
    const StdoutToStderr redirected;
    return runCommand(recording, ChildEnvironment());
  }();
  if (status.shell() != 0) {
    throw CommandError(fmt::format("the command ended with status {}; a gate compares runs that end well",
                                   status.shell()));
  }
  std::error_code error;
  if (!fs::exists(run.trace, error)) {
    throw CommandError("nothing was recorded; see `ulpscope doctor`");
  }
  return run;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

void appendHistory(const gate::Folder& folder, const std::string& key, const std::string& reason,
                   const std::string& what) {
  std::ifstream in(folder.historyFile(), std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  std::string content = text.str();
  if (content.empty()) content = "# What this gate has accepted\n";
  content += fmt::format("\n## {}, {}\n\n{}\n\n{}", today(), key, reason, what);
  gate::Folder::writeFile(folder.historyFile(), content);
}

std::string textOf(const gate::Baseline& baseline) {
  std::ostringstream text;
  gate::write(baseline, text);
  return std::move(text).str();
}

std::string sizeOf(const gate::Baseline& baseline) {
  return fmt::format("{} in {}", counted(baseline.ops(), "op"),
                     counted(int64_t(baseline.sections.size()), "step"));
}

/// Ops by kind, as rows of words.
std::string byOp(const DiffResult& result, bool markdown) {
  const std::vector<gate::OpSummary> kinds = gate::summarise(result);
  if (kinds.empty()) return {};
  std::string text = markdown
      ? "| op | starts | carries on | structure | of | worst relative error |\n|---|---|---|---|---|---|\n"
      : fmt::format("{:<36} {:>8} {:>8} {:>9} {:>9}  {}\n", "by op", "starts", "carries", "structure", "of",
                    "worst relative error");
  for (size_t i = 0; i < std::min(kinds.size(), kOpsShown); ++i) {
    const gate::OpSummary& kind = kinds[i];
    const std::string worst = kind.worst > 0 ? magnitude(kind.worst) : "";
    text += fmt::format(fmt::runtime(markdown ? "| `{}` | {} | {} | {} | {} | {} |\n"
                                              : "{:<36} {:>8} {:>8} {:>9} {:>9}  {}\n"),
                        kind.op, grouped(kind.starts), grouped(kind.carries), grouped(kind.structural),
                        grouped(kind.pairs), worst);
  }
  if (kinds.size() > kOpsShown) {
    text += fmt::format("{}and {} more kinds of op\n", markdown ? "\n" : "", kinds.size() - kOpsShown);
  }
  return text;
}

/// What an accepted change was, for the history and for `accept` to show.
std::string changeSummary(const gate::Checked& checked) {
  std::string text = verdictText(checked.result) + ".\n";
  if (checked.result.first) {
    text += fmt::format("Where: {}.\n", whereText(*checked.result.first));
  }
  if (!checked.exact) text += fmt::format("Compared with {}.\n", fs::path(checked.result.a.path).stem().string());
  if (const std::string table = byOp(checked.result, true); !table.empty()) text += "\n" + table;
  return text;
}

int recordGate(const GateFlags& flags, const std::vector<std::string>& command) {
  const gate::Folder folder(flags.folder);
  const Run run = obtain(flags, command, {});
  const Reader trace(run.trace);
  gate::Baseline baseline = gate::encode(trace, trace.readAll());
  if (!baseline.complete) throw CommandError("the trace was cut short; a gate compares runs that end well");
  if (baseline.sections.empty()) throw CommandError("the run holds no op; see `ulpscope doctor`");
  if (!command.empty()) baseline.command = command;  // as typed
  const std::string key = gate::environmentKey(baseline.environment);
  const fs::path file = folder.baselineFile(key);
  std::error_code error;
  if (fs::exists(file, error)) {
    throw CommandError(fmt::format("{} is there already; `ulpscope gate check{}` compares with it, and "
                                   "`gate accept` replaces it", file.string(), dirFlag(flags)));
  }
  const std::string text = textOf(baseline);
  gate::Folder::writeFile(file, text);
  folder.ignoreChecked();
  appendHistory(folder, key, flags.reason.empty() ? "Recorded." : flags.reason, sizeOf(baseline) + ".\n");
  fmt::print("{}: {} ({:.1f} KiB)\n\nnext: git add {} && ulpscope gate check{}\n", file.string(),
             sizeOf(baseline), double(text.size()) / 1024, shellQuoted(flags.folder), dirFlag(flags));
  return 0;
}

/// --report FORMAT=FILE
void writeReports(const GateFlags& flags, const DiffResult& result, const TextOptions& text) {
  for (const std::string& report : flags.reports) {
    const size_t equals = report.find('=');
    std::ostringstream content;
    writeReport(report.substr(0, equals), result, content, text);
    writeReportFile(report.substr(equals + 1), content.str());
  }
}

/// Keeps what was seen, for `accept`. A folder that can't be written (a checkout of CI) is no failure
/// of the check.
void keep(const gate::Folder& folder, const gate::Checked& checked) {
  try {
    folder.ignoreChecked();
    gate::Folder::writeFile(folder.checkedFile(), textOf(checked.run));
    gate::Folder::writeFile(folder.checkedSummary(), changeSummary(checked));
  } catch (const TraceError& error) {
    fmt::print(stderr, "ulpscope: gate: {}\n", error.what());
  }
}

int checkGate(GateFlags& flags, const std::vector<std::string>& command) {
  const gate::Folder folder(flags.folder);
  const std::vector<gate::Folder::Entry> baselines = folder.baselines();
  if (baselines.empty()) {
    throw CommandError(fmt::format("there is no baseline in {}; make one: ulpscope gate record{} -- COMMAND",
                                   flags.folder, dirFlag(flags)));
  }
  std::vector<std::string> recorded;
  if (command.empty() && flags.trace.empty()) recorded = gate::readCommand(baselines.front().file);
  const Run run = obtain(flags, command, recorded);
  if (flags.options.rulesFile.empty()) flags.options.rulesFile = folder.rulesFile();

  const auto nearest = folder.nearest(Reader(run.trace).environment());
  gate::Checked checked = [&] {
    Progress bar("comparing");
    flags.options.progress = [&bar](double share) {
      bar.update(share);
      return true;
    };
    return gate::check(*nearest, run.trace, flags.options);
  }();
  checked.run.command = command.empty() ? gate::readCommand(nearest->file) : command;
  DiffResult& result = checked.result;
  if (flags.trace.empty()) result.b.path = "this run";
  const int status = exitStatus(result.verdict);
  if (!checked.exact) {
    std::string facts;
    for (const EnvironmentDifference& each : checked.facts) facts += (facts.empty() ? "" : ", ") + each.key;
    const bool bits = result.verdict == Verdict::identical;
    result.notes.push_back(fmt::format(
        "There is no baseline of this environment ({}); the nearest differs in {}{}.", checked.key, facts,
        bits ? ", and its bits are the same"
             : fmt::format(": what differs by no more than {} relative passes",
                           magnitude(flags.options.fallbackTolerance))));
  }
  const bool changed = result.verdict != Verdict::identical || !checked.exact;
  if (changed && result.verdict != Verdict::notComparable) keep(folder, checked);

  TextOptions text;
  text.colour = flags.output.empty() && colourOn(STDOUT_FILENO);
  text.more = byOp(result, false);
  const std::string accept = fmt::format("ulpscope gate accept{} --reason '...'", dirFlag(flags));
  text.next = changed ? accept : fmt::format("ulpscope gate status{}", dirFlag(flags));
  if (status == 1 || status == 3) {
    text.next = fmt::format("ulpscope gate check{} --report html=gate.html", dirFlag(flags));
    text.more += fmt::format("{}If the change is wanted: {}\n", text.more.empty() ? "" : "\n", accept);
  } else if (result.verdict == Verdict::notComparable) {
    text.next = "ulpscope doctor";
  }
  if (flags.output.empty()) {
    writeReport(flags.format, result, std::cout, text);
    std::cout.flush();
    if (!std::cout) throw CommandError("can't write the answer to the output; is its disk full?");
  } else {
    std::ostringstream content;
    writeReport(flags.format, result, content, text);
    writeReportFile(flags.output, content.str());
  }
  writeReports(flags, result, text);
  if (flags.format != "text" || !flags.output.empty()) {
    fmt::print(stderr, "ulpscope: gate: {}\n", verdictText(result));
  }
  return status;
}

int acceptGate(const GateFlags& flags) {
  const gate::Folder folder(flags.folder);
  std::error_code error;
  if (!fs::exists(folder.checkedFile(), error)) {
    throw CommandError(fmt::format("there is nothing to accept in {}; run `ulpscope gate check{}` first",
                                   flags.folder, dirFlag(flags)));
  }
  if (flags.reason.find_first_not_of(" \t\n") == std::string::npos) {
    throw CommandError("say why, for the history: ulpscope gate accept --reason '...'");
  }
  const gate::Baseline checked = gate::readBaseline(folder.checkedFile().string());
  const std::string key = gate::environmentKey(checked.environment);
  std::ifstream in(folder.checkedSummary(), std::ios::binary);
  std::ostringstream summary;
  if (in) summary << in.rdbuf();

  const bool replaced = fs::exists(folder.baselineFile(key), error);
  gate::Folder::writeFile(folder.baselineFile(key), textOf(checked));
  appendHistory(folder, key, flags.reason, summary.str());
  fs::remove_all(folder.checkedFile().parent_path(), error);

  fmt::print("{} {}: {}\n\n{}", replaced ? "Accepted a change of" : "Accepted another environment,",
             key, sizeOf(checked), summary.str());
  std::vector<std::string> others;
  for (const auto& each : folder.baselines()) {
    if (each.key != key) others.push_back(each.key);
  }
  if (replaced && !others.empty()) {
    fmt::print("\nThe baselines of other environments are as before; check and accept there too: {}\n",
               fmt::join(others, ", "));
  }
  fmt::print("\nnext: git add {} && git commit\n", shellQuoted(flags.folder));
  return 0;
}

int statusOfGate(const GateFlags& flags) {
  const gate::Folder folder(flags.folder);
  const std::vector<gate::Folder::Entry> baselines = folder.baselines();
  if (baselines.empty()) {
    throw CommandError(fmt::format("there is no baseline in {}; make one: ulpscope gate record{} -- COMMAND",
                                   flags.folder, dirFlag(flags)));
  }
  for (const auto& each : baselines) {
    fmt::print("{}  {}\n", each.key, sizeOf(gate::readBaseline(each.file.string())));
  }
  const std::vector<std::string> command = gate::readCommand(baselines.front().file);
  std::string line;
  for (const std::string& argument : command) line += " " + shellQuoted(argument);
  if (!line.empty()) fmt::print("command {}\n", line);
  std::error_code error;
  const bool pending = fs::exists(folder.checkedFile(), error);
  if (pending) fmt::print("the last check saw a change that is not accepted\n");
  fmt::print("\nnext: ulpscope gate {}{}\n", pending ? "accept --reason '...'" : "check", dirFlag(flags));
  return 0;
}

std::string checkReport(const std::string& text) {
  const size_t equals = text.find('=');
  const std::vector<std::string> formats = reportFormats();
  const bool known = equals != std::string::npos && equals + 1 < text.size() &&
                     std::find(formats.begin(), formats.end(), text.substr(0, equals)) != formats.end();
  return known ? "" : "give a report as FORMAT=FILE, as in --report html=gate.html";
}

}  // namespace

Action defineGate(CLI::App& app) {
  auto flags = std::make_shared<GateFlags>();
  app.require_subcommand(1);
  CLI::App* record = app.add_subcommand("record", "run a command and keep its numbers as the accepted ones");
  CLI::App* check = app.add_subcommand("check", "run it again and compare; 0 agrees, 1 numbers differ, 3 "
                                                "structure differs, 4 not comparable");
  CLI::App* accept = app.add_subcommand("accept", "make what the last check saw the accepted numbers");
  CLI::App* status = app.add_subcommand("status", "list the accepted environments");
  for (CLI::App* each : {record, check, accept, status}) {
    each->add_option("--dir", flags->folder, "the folder of this gate, to be committed")->capture_default_str();
  }
  for (CLI::App* each : {record, check}) {
    each->add_option("--trace", flags->trace, "take this trace instead of running a command");
  }
  for (CLI::App* each : {record, accept}) {
    each->add_option("--reason", flags->reason, "why, for the history");
  }
  check->add_option("--format", flags->format, "of the answer; those of diff")
      ->check(CLI::IsMember(reportFormats()))
      ->capture_default_str();
  check->add_option("-o,--output", flags->output, "write the answer to this file");
  check->add_option("--report", flags->reports, "write FORMAT=FILE beside it (may be repeated)")
      ->check(checkReport)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  check->add_option("--rules", flags->options.rulesFile,
                    "tolerances by op and module (docs/alignment.md; default: rules.toml of the folder)");
  Tolerance& tolerance = flags->options.tolerance;
  check->add_option("--rtol", tolerance.rtol, "accept this relative L2 error of an operand")
      ->check(CLI::NonNegativeNumber);
  check->add_option("--atol", tolerance.atol, "accept this estimated root-mean-square difference")
      ->check(CLI::NonNegativeNumber);
  check->add_option("--ulp", tolerance.ulp, "accept this estimated difference in units in the last place")
      ->check(CLI::NonNegativeNumber);
  check->add_option("--fallback-rtol", flags->options.fallbackTolerance,
                    "the relative error that is accepted where no baseline is of this environment")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  return [flags, record, check, accept](const Invocation& invocation) {
    if (record->parsed()) return recordGate(*flags, invocation.command);
    if (check->parsed()) return checkGate(*flags, invocation.command);
    if (!invocation.command.empty()) throw CommandError("accept and status take no command");
    return accept->parsed() ? acceptGate(*flags) : statusOfGate(*flags);
  };
}

}  // namespace ulpscope
