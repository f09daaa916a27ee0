#include "diff/ranks/agreement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/terminal.h"
#include "cli/verb.h"
#include "diff/diff.h"
#include "diff/ranks/rank_run.h"
#include "diff/render/format.h"

namespace ulpscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShown = 8;

struct RanksFlags {
  std::string folder;
  std::string format = "text";
};

Json placeJson(const Disagreement::Place& place) {
  Json stack = Json::array();
  for (const Frame& frame : place.stack) {
    stack.push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}});
  }
  return {{"rank", place.rank},
          {"id", place.id ? Json(place.id.value) : Json(nullptr)},
          {"op", place.op.empty() ? Json(nullptr) : Json(place.op)},
          {"value", place.value},
          {"stack", std::move(stack)}};
}

Json disagreementJson(const Disagreement& found) {
  return {{"kind", name(found.kind)},
          {"rank", found.ranks.empty() ? Json(nullptr) : Json(found.ranks.front())},
          {"ranks", found.ranks},
          {"op", found.departs.op.empty() ? found.others.op : found.departs.op},
          {"step", found.step},
          {"phase", name(found.phase)},
          {"module", found.module},
          {"group", found.group.empty() ? Json(nullptr) : Json(found.group)},
          {"sequence", found.sequence < 0 ? Json(nullptr) : Json(found.sequence)},
          {"departs", placeJson(found.departs)},
          {"others", placeJson(found.others)},
          {"explanation", found.explanation}};
}

void writeJson(const RanksResult& result, std::ostream& out) {
  Json ranks = Json::array(), groups = Json::array(), found = Json::array(), healed = Json::array();
  for (const RanksResult::Rank& rank : result.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"path", rank.path},
                     {"ops", rank.ops},
                     {"collectives", rank.collectives},
                     {"complete", rank.complete}});
  }
  for (const RanksResult::Group& group : result.groups) {
    groups.push_back(
        {{"name", group.name}, {"ranks", group.ranks}, {"collectives", group.collectives}});
  }
  for (const Disagreement& each : result.found) found.push_back(disagreementJson(each));
  for (const Disagreement& each : result.healed) healed.push_back(disagreementJson(each));
  const Json document = {
      {"schema", "ulpscope.ranks/1"},
      {"folder", result.folder},
      {"world", result.world},
      {"ranks", std::move(ranks)},
      {"groups", std::move(groups)},
      {"verdict", name(result.verdict)},
      {"first", result.found.empty() ? Json(nullptr) : disagreementJson(result.found.front())},
      {"found", std::move(found)},
      {"healed", std::move(healed)},
      {"compared",
       {{"collectives", result.collectives},
        {"results", result.results},
        {"parameters", result.parameters},
        {"updates", result.updates},
        {"ops", result.ops}}},
      {"notes", result.notes},
      {"not_comparable", result.notComparableReason}};
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

std::string whereText(const Disagreement& found, const Disagreement::Place& place) {
  std::string text = fmt::format("step {}, {}", found.step, name(found.phase));
  if (!found.module.empty()) text += ", " + found.module;
  if (const Frame* frame = programFrame(place.stack)) text += ", " + frameText(*frame);
  return text;
}

std::string_view headline(Disagreement::Kind kind) {
  switch (kind) {
    case Disagreement::Kind::order: return "collectives out of order";
    case Disagreement::Kind::form: return "a collective of another form";
    case Disagreement::Kind::structure: return "another op";
    case Disagreement::Kind::scalar: return "another scalar";
    case Disagreement::Kind::start: return "another parameter from the start";
    case Disagreement::Kind::parameter: return "another parameter after the update";
    case Disagreement::Kind::result: return "another result of a collective";
    case Disagreement::Kind::healed: return "made equal by a broadcast";
  }
  return "";
}

void writeText(const RanksResult& result, std::ostream& out, bool colour) {
  const Paint paint{colour};
  const auto row = [&](std::string_view title, const std::string& text) {
    out << paint.dim(fmt::format("{:<11}", title)) << "  " << text << '\n';
  };
  const auto capital = [](std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = char(text[0] - 'a' + 'A');
    return text;
  };
  std::string next;
  if (!result.found.empty()) {
    const Disagreement& first = result.found.front();
    const std::string op = first.departs.op.empty() ? first.others.op : first.departs.op;
    out << paint.bad(fmt::format("First disagreement: rank {}:", first.ranks.front())) << ' '
        << paint.name(op) << " (" << headline(first.kind) << ")\n";
    const auto detail = [&](std::string_view title, const std::string& text) {
      out << "  " << paint.dim(fmt::format("{:<10}", title)) << ' ' << text << '\n';
    };
    detail("where", whereText(first, first.departs.op.empty() ? first.others : first.departs));
    detail("why", first.explanation);
    for (const auto* place : {&first.departs, &first.others}) {
      if (place->id) {
        detail(fmt::format("rank {}", place->rank),
               fmt::format("#{} {}{}", place->id.value, place->op,
                           place->value.empty() ? "" : "  " + place->value));
      }
    }
    if (result.found.size() > 1) {
      out << '\n' << paint.bold(fmt::format("{} more:", grouped(int64_t(result.found.size()) - 1))) << '\n';
      for (size_t i = 1; i < std::min(result.found.size(), kShown + 1); ++i) {
        out << "  " << capital(result.found[i].explanation) << ".\n";
      }
      if (result.found.size() > kShown + 1) {
        out << fmt::format("  and {} more: --format=json lists them all\n", result.found.size() - kShown - 1);
      }
    }
    const int rank = first.departs.id ? first.departs.rank : first.others.rank;
    for (const RanksResult::Rank& each : result.ranks) {
      if (each.rank == rank) {
        next = fmt::format("ulpscope show {} --step {} --operands", shellQuoted(each.path), first.step);
      }
    }
  } else if (result.verdict == Verdict::notComparable) {
    out << paint.warning("Not comparable:") << ' ' << result.notComparableReason << ".\n";
  } else {
    out << paint.good("The ranks agree") << " wherever they must.\n";
  }
  for (const Disagreement& each : result.healed) {
    out << '\n' << capital(each.explanation) << ".\n";
    break;
  }
  if (result.healed.size() > 1) {
    out << fmt::format("So did {} other broadcasts; --format=json lists them.\n", result.healed.size() - 1);
  }
  out << '\n';
  row("ranks", fmt::format("{} of {}", result.ranks.size(), result.world));
  for (size_t i = 0; i < std::min(result.groups.size(), kShown); ++i) {
    row(i == 0 ? "groups" : "",
        fmt::format("{}: {}, {}", result.groups[i].name,
                    counted(int64_t(result.groups[i].ranks.size()), "rank"),
                    counted(result.groups[i].collectives, "collective")));
  }
  if (result.groups.size() > kShown) row("", fmt::format("and {} more", result.groups.size() - kShown));
  row("compared",
      fmt::format("{}, {} of them by their results; {} in {}; scalars and order of {}",
                  counted(result.collectives, "collective"), grouped(result.results),
                  counted(result.parameters, "replicated parameter"), counted(result.updates, "update"),
                  counted(result.ops, "op")));
  for (const std::string& note : result.notes) row("note", note);
  if (next.empty()) {
    next = result.ranks.size() > 1 && result.verdict != Verdict::notComparable
               ? fmt::format("ulpscope diff {} ANOTHER_RUN/", shellQuoted(result.folder))
               : fmt::format("ulpscope show {}", shellQuoted(result.ranks.front().path));
  }
  out << '\n' << paint.dim("next:") << ' ' << next << '\n';
}

int runRanks(const RanksFlags& flags) {
  RanksResult result;
  try {
    Progress bar("reading ranks");
    result = checkRanks(flags.folder);
  } catch (const RunFolderError& error) {
    throw CommandError(error.what());
  }
  if (flags.format == "json") {
    writeJson(result, std::cout);
  } else {
    writeText(result, std::cout, colourOn(STDOUT_FILENO));
  }
  std::cout.flush();
  if (!std::cout) throw CommandError("can't write the answer to the output; is its disk full?");
  return exitStatus(result.verdict);
}

}  // namespace

Action defineRanks(CLI::App& app) {
  auto flags = std::make_shared<RanksFlags>();
  app.add_option("DIR", flags->folder, "the folder with the traces of all ranks of one run")->required();
  app.add_option("--format", flags->format, "text or json (docs/ranks.md)")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [flags](const Invocation&) { return runRanks(*flags); };
}

}  // namespace ulpscope
