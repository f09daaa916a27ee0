#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/installation.h"
#include "cli/process.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "diff/render/format.h"
#include "fingerprint/fingerprint.h"

namespace ulpscope {
namespace {

constexpr int kProblemsFound = 1;
constexpr int kPythonSeconds = 300;  // importing torch's compiler from a cold disk

/// Prints a line for each thing looked at and counts what does not work.
class Checkup {
 public:
  explicit Checkup(const Paint& paint) : paint_(paint) {}

  void good(std::string_view what, std::string_view detail) {
    line(paint_.good("ok     "), what, detail);
  }
  /// Nothing is broken, but something can't be used.
  void missing(std::string_view what, std::string_view detail, std::string_view todo) {
    line(paint_.warning("missing"), what, detail);
    advice(todo);
  }
  void problem(std::string_view what, std::string_view detail, std::string_view todo) {
    line(paint_.bad("problem"), what, detail);
    advice(todo);
    ++problems_;
  }
  int problems() const { return problems_; }

 private:
  void line(std::string_view mark, std::string_view what, std::string_view detail) {
    fmt::print("{}  {:<13}  {}\n", mark, what, detail);
    std::fflush(stdout);
  }
  void advice(std::string_view todo) {
    if (!todo.empty()) fmt::print("{:24}to do: {}\n", "", todo);
  }

  const Paint paint_;
  int problems_ = 0;
};

void checkFingerprints(Checkup& checkup) {
  checkup.good("fingerprint", fmt::format("version {}, instruction set {}", kFingerprintVersion,
                                          instructionSet()));
}

void checkPreload(Checkup& checkup, const Installation& installation) {
  if (installation.preload.empty() || installation.hook.empty()) {
    checkup.problem("preload", "this build has no recorder",
                    "build with -DULPSCOPE_BUILD_HOOK=ON (scripts/setup does)");
    return;
  }
  ChildEnvironment environment;
  environment.set("LD_PRELOAD", installation.preload);
  environment.unset("ULPSCOPE_OUTPUT");  // nothing is to be recorded
  const Captured maps = captureCommand({"/bin/cat", "/proc/self/maps"}, environment, 10);
  if (maps.output.find(installation.preload) != std::string::npos) {
    checkup.good("preload", installation.preload);
  } else {
    checkup.problem("preload", fmt::format("the system does not preload {}", installation.preload),
                    "check that the file is readable and its file system is not mounted noexec");
  }
}

void checkPython(Checkup& checkup, const Installation& installation, const std::string& chosen) {
  std::string python = chosen;
  for (const char* name : {"python", "python3"}) {
    if (python.empty() && !findProgram(name).empty()) python = name;
  }
  if (python.empty() || findProgram(python).empty()) {
    checkup.missing(
        "python",
        python.empty() ? "there is no python on PATH" : fmt::format("there is no {}", python),
        "name one with --python; native programs need none");
    return;
  }
  if (installation.pythonFolder.empty()) {
    checkup.problem("python", "the Python package is not installed beside this program",
                    "run scripts/setup");
    return;
  }
  ChildEnvironment environment;
  environment.unset("ULPSCOPE_RECORD");
  environment.unset("ULPSCOPE_OUTPUT");
  const Captured captured = captureCommand(
      {python, installation.pythonFolder + "/ulpscope/_doctor.py"}, environment, kPythonSeconds);
  std::istringstream lines(captured.output);
  for (std::string text; std::getline(lines, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object()) continue;
    const std::string what = line.value("what", ""), detail = line.value("detail", "");
    if (line.value("ok", false)) {
      checkup.good(what, detail);
    } else {
      checkup.problem(what, detail, line.value("todo", ""));
    }
  }
  if (captured.end == Captured::End::late) {
    checkup.problem(
        "python", fmt::format("{} took longer than {} s to load its torch", python, kPythonSeconds),
        "try again when the machine has less to do");
  } else if (captured.end == Captured::End::failed) {
    checkup.problem("python", fmt::format("{} failed while it looked at its torch", python),
                    fmt::format("try: {} -c 'import torch'", python));
  }
}

void checkViewer(Checkup& checkup, const Installation& installation) {
  if (installation.viewer.empty()) {
    checkup.missing("viewer", "not installed", "build with -DULPSCOPE_BUILD_GUI=ON (Qt 6)");
  } else if (!isSet("DISPLAY") && !isSet("WAYLAND_DISPLAY")) {
    checkup.missing("viewer", fmt::format("{}, but there is no display", installation.viewer),
                    "log in with ssh -X, or use `ulpscope diff` and `ulpscope show`");
  } else {
    checkup.good("viewer", installation.viewer);
  }
}

void checkFolder(Checkup& checkup) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  std::string probe = here + "/.ulpscope-XXXXXX";
  const int descriptor = mkstemp(probe.data());
  if (descriptor < 0) {
    checkup.problem("folder", fmt::format("{} is not writable", here),
                    "give record a place for the trace with -o");
    return;
  }
  close(descriptor);
  unlink(probe.c_str());
  const auto space = std::filesystem::space(here, error);
  constexpr double kGiB = double(1 << 30);
  checkup.good(
      "folder",
      error ? here : fmt::format("{}, {:.1f} GiB free", here, double(space.available) / kGiB));
}

int doctor(const std::string& python) {
  const Paint paint{colourOn(STDOUT_FILENO)};
  const Installation installation = Installation::find();
  Checkup checkup(paint);
  checkup.good("ulpscope", fmt::format("{}, {}", ULPSCOPE_VERSION, installation.program));
  checkFingerprints(checkup);
  checkPreload(checkup, installation);
  checkPython(checkup, installation, python);
  checkViewer(checkup, installation);
  checkFolder(checkup);
  if (checkup.problems() == 0) {
    fmt::print("\n{} ulpscope record -- python train.py\n", paint.dim("next:"));
    return 0;
  }
  fmt::print("\n{} {}; then {} ulpscope doctor\n", checkup.problems(),
             checkup.problems() == 1 ? "problem to mend" : "problems to mend", paint.dim("next:"));
  return kProblemsFound;
}

}  // namespace

Action defineDoctor(CLI::App& app) {
  auto python = std::make_shared<std::string>();
  app.add_option("--python", *python, "look at this interpreter instead of the python on PATH");
  return [python](const Invocation&) { return doctor(*python); };
}

}  // namespace ulpscope
