#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/process.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "diff/diff.h"
#include "diff/render/format.h"
#include "diff/render/phrases.h"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kOpsShown = 10;

struct RepeatFlags {
  int runs = 3;
  std::string folder;
  std::string format = "text";
  bool stacks = false;
};

/// An op that gives other results in other runs though it gets the same inputs.
struct Unsteady {
  Origin origin;         ///< as it differs most
  int runs = 0;          ///< that differ from the first run here
  double relative = 0;   ///< the largest difference to the first run; NaN unknown
  double ulp = 0;
  std::set<std::pair<uint64_t, uint64_t>> results;  ///< distinct digests, the first run's among them
};

fs::path defaultFolder() {
  for (int n = 1;; ++n) {
    const fs::path folder = fmt::format("repeat-{}", n);
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) return folder;
  }
}

std::vector<fs::path> record(const RepeatFlags& flags, const fs::path& folder,
                             const std::vector<std::string>& command) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw CommandError(fmt::format("can't make {} ({}); choose another folder with -o",
                                   folder.string(), error.message()));
  }
  const std::string self = fs::read_symlink("/proc/self/exe");
  std::vector<fs::path> traces;
  for (int run = 1; run <= flags.runs; ++run) {
    traces.push_back(folder / fmt::format("run-{}.ulps", run));
    std::vector<std::string> recording{self, "record", "-o", traces.back(), "--capture=none"};
    if (flags.stacks) recording.push_back("--stacks");
    recording.push_back("--");
    recording.insert(recording.end(), command.begin(), command.end());
    const ExitStatus status = runCommand(recording, ChildEnvironment());
    if (status.signal == SIGINT || status.signal == SIGTERM) endLike(status);
    if (!fs::exists(traces.back(), error)) {
      throw CommandError(fmt::format("run {} of {} wrote no trace (status {}); try `ulpscope record` by "
                                     "itself first", run, flags.runs, status.shell()));
    }
    if (status.shell() != 0) {
      fmt::print(stderr, "ulpscope: repeat: run {} of {} ended with status {}\n", run, flags.runs,
                 status.shell());
    }
  }
  return traces;
}

void note(const DiffResult& result, const Origin& origin, std::map<int32_t, Unsteady>& ops,
          std::vector<Unsteady>& others) {
  // Runs of one command pair op by op: A's op number is the same in each comparison.
  Unsteady fresh;
  Unsteady* entry = &fresh;
  if (origin.a) entry = &ops[int32_t(origin.a->id.value)];
  const double size = std::isnan(origin.relativeError) ? -1 : origin.relativeError;
  if (entry->runs == 0 || size > entry->relative) {
    entry->origin = origin;
    entry->relative = origin.relativeError;
    entry->ulp = origin.ulp;
  }
  ++entry->runs;
  const Pair& pair = result.pairs[size_t(origin.pair)];
  const auto add = [&](const Side& side, int32_t operand) {
    if (operand < 0) return;
    const Digest digest = side.reader->digest(side.ops.operands[size_t(operand)].fingerprint);
    entry->results.emplace(digest.low, digest.high);
  };
  add(result.a, pair.operandA);
  add(result.b, pair.operandB);
  if (!origin.a) others.push_back(std::move(fresh));
}

Json toJson(const Unsteady& op, int runs) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  const Origin& o = op.origin;
  return {{"op", o.op}, {"label", name(o.label)}, {"difference", name(o.difference)},
          {"id", o.a ? Json(o.a->id.value) : Json(nullptr)}, {"step", o.step},
          {"phase", name(o.phase)}, {"module", o.module}, {"runs_that_differ", op.runs},
          {"runs", runs}, {"distinct_results", op.results.size()},
          {"largest_relative", number(op.relative)}, {"largest_ulp", number(op.ulp)}};
}

int repeat(const RepeatFlags& flags, const std::vector<std::string>& command) {
  if (command.empty()) {
    throw CommandError("no command to run; put it after --, as in: ulpscope repeat -n 3 -- python train.py");
  }
  const fs::path folder = flags.folder.empty() ? defaultFolder() : fs::path(flags.folder);
  const std::vector<fs::path> traces = record(flags, folder, command);

  std::map<int32_t, Unsteady> ops;
  std::vector<Unsteady> others;
  int64_t compared = 0, carried = 0;
  bool structural = false;
  size_t worst = 0;  // the run to look at next
  for (size_t k = 1; k < traces.size(); ++k) {
    Progress bar("comparing");
    DiffOptions options;
    options.progress = [&](double share) {
      bar.update((double(k) - 1 + share) / double(traces.size() - 1));
      return true;
    };
    const DiffResult result = diff(traces[0], traces[k], options);
    if (result.verdict == Verdict::notComparable) {
      throw CommandError(fmt::format("runs 1 and {} can't be compared: {}", k + 1, result.notComparableReason));
    }
    compared = result.counts.pairs;
    carried = std::max(carried, result.counts.propagated);
    structural |= result.verdict == Verdict::structural;
    if (result.first && worst == 0) worst = k;
    for (const Origin& origin : result.frontier) note(result, origin, ops, others);
  }
  std::vector<const Unsteady*> found;
  for (const auto& [id, op] : ops) found.push_back(&op);
  for (const Unsteady& op : others) found.push_back(&op);
  std::stable_sort(found.begin(), found.end(), [](const Unsteady* x, const Unsteady* y) {
    return x->origin.step < y->origin.step;
  });

  if (flags.format == "json") {
    Json list = Json::array();
    for (const Unsteady* op : found) list.push_back(toJson(*op, flags.runs));
    Json paths = Json::array();
    for (const fs::path& trace : traces) paths.push_back(trace.string());
    std::cout << Json{{"schema", "ulpscope.repeat/1"}, {"traces", paths}, {"pairs", compared},
                      {"deterministic", found.empty()}, {"ops", list}}.dump(2) << "\n";
  } else {
    const Paint paint{colourOn(STDOUT_FILENO)};
    if (found.empty()) {
      fmt::print("{} {} ops give the same bits in all {} runs.\n", paint.good("Deterministic:"),
                 grouped(compared), flags.runs);
    } else {
      fmt::print("{} of {} ops start to differ in {} runs, the first ones first:\n",
                 paint.bad("Not deterministic: " + grouped(int64_t(found.size()))), grouped(compared), flags.runs);
      for (size_t k = 0; k < std::min(found.size(), kOpsShown); ++k) {
        const Unsteady& op = *found[k];
        fmt::print("  {}  {}  {}\n", paint.name(op.origin.op), phrase(op.origin.difference),
                   paint.dim(whereText(op.origin)));
        fmt::print("      {} of {} runs differ from the first, {}{}{}\n", op.runs, flags.runs - 1,
                   counted(int64_t(std::max<size_t>(op.results.size(), 1)), "distinct result"),
                   std::isfinite(op.relative) && op.relative > 0
                       ? fmt::format(", up to {} relative", magnitude(op.relative)) : "",
                   std::isfinite(op.ulp) && op.ulp > 0 ? fmt::format(", about {} ulp", magnitude(op.ulp)) : "");
      }
      if (found.size() > kOpsShown) {
        fmt::print("  and {} more: --format=json lists them all\n", grouped(int64_t(found.size() - kOpsShown)));
      }
      if (carried > 0) fmt::print("{} carry a difference on.\n", counted(carried, "op"));
    }
    const std::string first = shellQuoted(traces[0].string());
    fmt::print("\n{} ulpscope {}\n", paint.dim("next:"),
               worst > 0 ? fmt::format("diff {} {}", first, shellQuoted(traces[worst].string()))
                         : fmt::format("diff {} ANOTHER.ulps --noise {}", first,
                                       shellQuoted(traces[1].string())));
  }
  std::cout.flush();
  return structural ? 3 : found.empty() ? 0 : 1;
}

}  // namespace

Action defineRepeat(CLI::App& app) {
  auto flags = std::make_shared<RepeatFlags>();
  app.add_option("-n", flags->runs, "how often to run the command")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("-o,--output", flags->folder,
                 "folder for the traces, run-1.ulps and so on (default: repeat-1, or the first free "
                 "number after it)");
  app.add_flag("--stacks", flags->stacks, "record whole stacks, not only the frame that called torch");
  app.add_option("--format", flags->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [flags](const Invocation& invocation) { return repeat(*flags, invocation.command); };
}

}  // namespace ulpscope
