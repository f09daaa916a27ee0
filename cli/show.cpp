#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/op_filter.h"
#include "cli/op_json.h"
#include "cli/op_tree.h"
#include "cli/terminal.h"
#include "cli/trace_summary.h"
#include "cli/verb.h"
#include "diff/render/format.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

constexpr int64_t kPage = 4096;

struct ShowFlags {
  std::string trace;
  std::string format = "text";
  bool operands = false;
  bool environment = false;
  int64_t limit = 0;
  OpFilter filter;
};

/// Calls `visit(table, op)` for the ops that the flags ask for, page by page. Gives how many there
/// were; beyond the limit they are counted and not visited.
template <class Visit>
int64_t forEachOp(const Reader& trace, const ShowFlags& flags, Visit visit) {
  int64_t matching = 0;
  const auto take = [&](const OpTable& table) {
    for (const Op& op : table.ops) {
      if (!flags.filter.matches(trace, op)) continue;
      if (flags.limit == 0 || matching < flags.limit) visit(table, op);
      ++matching;
    }
  };
  if (flags.filter.step) {
    take(trace.readStep(*flags.filter.step));
    return matching;
  }
  OpId next{1};
  while (true) {
    OpTable page;
    trace.readOps(next, kPage, page);
    if (page.ops.empty()) return matching;
    take(page);
    next = OpId{page.ops.back().id.value + 1};
  }
}

void printEnvironment(const Reader& trace, const Paint& paint) {
  for (const KeyValue& entry : trace.environment()) {
    fmt::print("{}  {}\n", paint.dim(fmt::format("{:<32}", entry.key)), entry.value);
  }
}

void printEvents(const Reader& trace, const Paint& paint) {
  for (const Event& event : trace.events()) {
    fmt::print("{} {}\n", paint.warning(fmt::format("{} at #{}:", event.kind, event.at.value)),
               event.text);
  }
}

int showText(const Reader& trace, const ShowFlags& flags) {
  const Paint paint{colourOn(STDOUT_FILENO)};
  fmt::print("{}: {}\n", paint.bold(flags.trace), traceSummary(trace));
  const std::string command = commandLine(trace);
  if (!command.empty()) fmt::print("{} {}\n", paint.dim("command"), command);
  fmt::print("\n");
  if (flags.environment) {
    printEnvironment(trace, paint);
  } else {
    OpTree tree(trace, std::cout, paint, flags.operands);
    const int64_t matching =
        forEachOp(trace, flags, [&](const OpTable& table, const Op& op) { tree.add(table, op); });
    std::cout.flush();
    if (matching == 0) fmt::print("no op matches\n");
    if (flags.limit != 0 && matching > flags.limit) {
      fmt::print("... and {} more; --limit 0 shows all\n", grouped(matching - flags.limit));
    }
    fmt::print("\n");
    printEvents(trace, paint);
  }
  fmt::print("\n{} ulpscope {}\n", paint.dim("next:"),
             flags.environment ? fmt::format("show {}", shellQuoted(flags.trace))
             : flags.operands  ? fmt::format("diff {} ANOTHER.ulps", shellQuoted(flags.trace))
                               : fmt::format("show {} --operands", shellQuoted(flags.trace)));
  return 0;
}

int showJson(const Reader& trace, const ShowFlags& flags) {
  writeTraceLine(trace, std::cout);
  if (!flags.environment) {
    forEachOp(trace, flags,
              [&](const OpTable& table, const Op& op) { writeOpLine(trace, table, op, std::cout); });
    for (const Event& event : trace.events()) writeEventLine(event, std::cout);
  }
  std::cout.flush();
  return 0;
}

int show(const ShowFlags& flags) {
  const Reader trace(flags.trace);
  const int status = flags.format == "json" ? showJson(trace, flags) : showText(trace, flags);
  if (!std::cout) throw CommandError("can't write the answer to the output; is its disk full?");
  return status;
}

}  // namespace

Action defineShow(CLI::App& app) {
  auto flags = std::make_shared<ShowFlags>();
  app.add_option("TRACE", flags->trace, "the trace to print")->required();
  app.add_option("--step", flags->filter.step, "only this step");
  app.add_option("--op", flags->filter.op, "only ops whose name matches this glob: 'aten::mm*'");
  app.add_option("--module", flags->filter.module,
                 "only ops in modules whose name matches this glob: 'transformer.h.0*'");
  app.add_flag("--operands", flags->operands, "the tensors of each op, with statistics and digest");
  app.add_flag("--environment", flags->environment, "the settings of the run instead of its ops");
  app.add_option("--limit", flags->limit, "at most so many ops; 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--format", flags->format, "text, or json: one object a line, the trace's first")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [flags](const Invocation&) { return show(*flags); };
}

}  // namespace ulpscope
