#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "cli/installation.h"
#include "cli/process.h"
#include "cli/verb.h"
#include "diff/diff.h"
#include "diff/render/format.h"

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

constexpr int kLongestRun = 24 * 3600;  // seconds
constexpr int kMostApplications = 1 << 16;

struct BisectFlags {
  std::string folder;
};

/// A private folder for traces and Inductor's cache; taken away at the end, unless it was asked for.
class Workplace {
 public:
  explicit Workplace(const std::string& asked) : kept_(!asked.empty()) {
    std::string name = (fs::temp_directory_path() / "ulpscope-bisect-XXXXXX").string();
    if (kept_) {
      fs::create_directories(asked);
      folder_ = fs::absolute(asked);
    } else if (mkdtemp(name.data()) != nullptr) {
      folder_ = name;
    } else {
      throw CommandError("can't make a folder below " + fs::temp_directory_path().string() +
                         "; choose one with -o");
    }
  }
  ~Workplace() {
    std::error_code error;
    if (!kept_) fs::remove_all(folder_, error);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  fs::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  fs::path folder_;
  bool kept_;
};

using Variables = std::map<std::string, std::string>;

/// Runs the command in one setting after the other and judges each by the diff against eager.
class Bisection {
 public:
  Bisection(const Workplace& place, const std::vector<std::string>& command)
      : place_(place), command_(command), program_(Installation::find().program) {}

  int run() {
    say("eager, the reference");
    reference_ = record("eager", {{"TORCH_COMPILE_DISABLE", "1"}});
    say("as it is");
    const DiffResult found = compare(record("compiled", {}));
    if (!found.first || !found.first->a) {
      fmt::print("{}\n\nnext: ulpscope diff of two recorded runs\n",
                 found.first ? "The first difference is an op that eager does not run; there is no value "
                               "to judge by."
                             : "The compiled run agrees with eager: there is nothing to bisect.");
      return 0;
    }
    suspect_ = found.first->a->id;
    fmt::print("the first divergent op is {} (#{} of eager), the judge of what follows\n\n",
               found.first->op, suspect_.value);
    return search();
  }

 private:
  static void say(std::string_view what) {
    if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K{}", what);
  }

  /// Records the command; throws CommandError where nothing came of it.
  std::string record(const std::string& name, const Variables& variables) {
    const fs::path trace = place_ / (name + ".ulps");
    ChildEnvironment environment;
    for (const auto& [key, value] : variables) environment.set(key, value);
    environment.set("TORCHINDUCTOR_CACHE_DIR", (place_ / "cache").string());
    environment.set("TORCHINDUCTOR_FORCE_DISABLE_CACHES", variables.empty() ? "0" : "1");
    std::vector<std::string> words = {program_, "record", "--quiet", "--capture=none", "-o",
                                      trace.string(), "--"};
    words.insert(words.end(), command_.begin(), command_.end());
    captureCommand(words, environment, kLongestRun);
    if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
    std::error_code error;
    if (!fs::exists(trace, error)) {
      throw CommandError(fmt::format("the run \"{}\" left no trace; try `ulpscope record -- COMMAND` to see "
                                     "why", name));
    }
    return trace.string();
  }

  DiffResult compare(const std::string& trace) const { return diff(reference_, trace, {}); }

  /// Does the suspect still start a difference in a run of this setting? nullopt: can't tell.
  std::optional<bool> diverges(const std::string& name, const Variables& variables) {
    say(name);
    DiffResult result;
    try {
      result = compare(record("trial", variables));
    } catch (const CommandError&) {
      return std::nullopt;
    }
    for (const Pair& pair : result.pairs) {
      for (const uint32_t member : result.opsA(pair)) {
        if (result.a.ops.ops[member].id != suspect_) continue;
        const bool bad = pair.label == Label::origin || pair.label == Label::structural;
        return pair.label == Label::opaque ? std::nullopt : std::optional<bool>(bad);
      }
    }
    return std::nullopt;
  }

  bool tell(const std::string& what, std::optional<bool> bad) const {
    fmt::print("  {:<52} {}\n", what, !bad ? "can't tell" : *bad ? "diverges" : "agrees");
    std::fflush(stdout);
    return bad.value_or(true);
  }

  int search() {
    fmt::print("backends\n");
    for (const char* backend : {"eager", "aot_eager", "aot_eager_decomp_partition"}) {
      if (!tell(backend, diverges(backend, {{"TORCH_BISECT_BACKEND", backend}}))) continue;
      if (std::string_view(backend) == "aot_eager_decomp_partition") {
        if (const auto found = application(backend, "decomposition")) return end(*found);
      }
      return end(fmt::format("It comes with the backend {}, before Inductor has a part in it.", backend));
    }
    fmt::print("settings of Inductor\n");
    std::vector<std::string> cures;
    for (const auto& [setting, value] : kSettings) {
      const std::string text = fmt::format("{} = {}", setting, value);
      const std::string json = fmt::format("{{\"{}\": {}}}", setting, value);
      const std::string python = value == "true" ? "True" : value == "false" ? "False" : value;
      if (!tell(text, diverges(text, {{"ULPSCOPE_INDUCTOR", json}}))) {
        cures.push_back(fmt::format("torch._inductor.config.{} = {}", setting, python));
      }
    }
    fmt::print("parts of Inductor\n");
    std::string part;
    for (const char* subsystem : {"pre_grad_passes", "joint_graph_passes", "post_grad_passes", "lowerings"}) {
      if (tell(fmt::format("without {}", subsystem), without(subsystem, -1))) continue;
      part = application("inductor", subsystem).value_or("");
      break;
    }
    if (cures.empty() && part.empty()) {
      return end("No setting and no part of Inductor that was tried cures it.");
    }
    std::string text;
    for (const std::string& cure : cures) text += fmt::format("{}Cured by {}.", text.empty() ? "" : "\n", cure);
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
    return end(text);
  }

  std::optional<bool> without(const std::string& subsystem, int most) {
    return diverges(fmt::format("{} up to {}", subsystem, most), variables("inductor", subsystem, most));
  }

  static Variables variables(const std::string& backend, const std::string& subsystem, int most) {
    return {{"TORCH_BISECT_BACKEND", backend},
            {"TORCH_BISECT_SUBSYSTEM", subsystem},
            {"TORCH_BISECT_MAX", std::to_string(most)}};
  }

  /// The application of a subsystem without which the suspect agrees; "" text where it is another.
  std::optional<std::string> application(const std::string& backend, const std::string& subsystem) {
    const auto bad = [&](int most) {
      return diverges(fmt::format("{} up to {}", subsystem, most), variables(backend, subsystem, most))
          .value_or(true);
    };
    if (bad(-1)) return std::nullopt;
    int good = -1;
    int limit = 0;
    while (limit < kMostApplications && !bad(limit)) {
      good = limit;
      limit = limit == 0 ? 1 : limit * 2;
    }
    if (limit >= kMostApplications) return std::nullopt;
    while (limit - good > 1) {
      const int middle = good + (limit - good) / 2;
      (bad(middle) ? limit : good) = middle;
    }
    return fmt::format("It comes with application {} of {}{} (TORCH_BISECT_BACKEND={} "
                       "TORCH_BISECT_SUBSYSTEM={} TORCH_BISECT_MAX={} runs without it).",
                       limit + 1, subsystem, lowered(backend, subsystem, good, limit), backend, subsystem,
                       good);
  }

  /// ", the lowering of aten::argmax": the op that goes to the dispatcher in one run only.
  std::string lowered(const std::string& backend, const std::string& subsystem, int good, int bad) {
    if (subsystem != "lowerings") return {};
    const auto names = [&](int most) {
      std::map<std::string, int> counts;
      const Reader trace(record("trial", variables(backend, subsystem, most)));
      const OpTable table = trace.readAll();
      for (const Op& op : table.ops) {
        if (op.kind == OpKind::op) ++counts[trace.schema(op.schema).name];
      }
      return counts;
    };
    const auto fallback = names(good);
    const auto kernel = names(bad);
    for (const auto& [name, count] : fallback) {
      const auto other = kernel.find(name);
      const int there = other == kernel.end() ? 0 : other->second;
      if (count > there && name != "aten::empty" && name != "aten::empty_strided") {
        return fmt::format(", the lowering of {}", name);
      }
    }
    return {};
  }

  int end(const std::string& conclusion) const {
    fmt::print("\n{}\n\nnext: ulpscope check -- {}\n", conclusion, shellWords());
    return 1;
  }

  std::string shellWords() const {
    std::string text;
    for (const std::string& word : command_) text += (text.empty() ? "" : " ") + shellQuoted(word);
    return text;
  }

  static inline const std::vector<std::pair<std::string, std::string>> kSettings = {
      {"emulate_precision_casts", "true"}, {"fallback_random", "true"},
      {"cpp.simdlen", "1"},                {"cpp.threads", "1"},
      {"pattern_matcher", "false"},        {"layout_optimization", "false"}};

  const Workplace& place_;
  const std::vector<std::string>& command_;
  const std::string program_;
  std::string reference_;
  OpId suspect_;
};

int bisect(const BisectFlags& flags, const std::vector<std::string>& command) {
  if (command.empty()) {
    throw CommandError("no command to run; put it after --, as in: ulpscope bisect -- python train.py");
  }
  const Workplace place(flags.folder);
  return Bisection(place, command).run();
}

}  // namespace

Action defineBisect(CLI::App& app) {
  auto flags = std::make_shared<BisectFlags>();
  app.add_option("-o,--output", flags->folder,
                 "keep the traces in this folder (default: none are kept)");
  return [flags](const Invocation& invocation) { return bisect(*flags, invocation.command); };
}

}  // namespace ulpscope
