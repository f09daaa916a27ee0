#include "cli/torch_python.h"

#include <unistd.h>

#include <filesystem>

#include "cli/installation.h"
#include "cli/verb.h"
#include "store/reader.h"

namespace ulpscope {
namespace {

std::string interpreter(const std::string& trace, const Installation& installation) {
  if (!trace.empty()) {
    const std::string recorded = Reader(trace).meta("python.executable");
    if (!recorded.empty() && access(recorded.c_str(), X_OK) == 0) return recorded;
  }
  const auto beside = std::filesystem::path(installation.program).parent_path() / "python";
  if (access(beside.c_str(), X_OK) == 0) return beside.string();
  return findProgram("python3");
}

}  // namespace

TorchPython TorchPython::of(const std::string& trace) {
  const Installation installation = Installation::find();
  if (installation.pythonFolder.empty()) {
    throw CommandError("this build has no Python package; build with -DULPSCOPE_BUILD_HOOK=ON");
  }
  TorchPython python;
  python.program = interpreter(trace, installation);
  if (python.program.empty()) {
    throw CommandError("there is no python3 on PATH to run torch with; activate the environment that "
                       "the program runs in");
  }
  const std::string path = python.environment.get("PYTHONPATH");
  python.environment.set("PYTHONPATH", path.empty() ? installation.pythonFolder
                                                    : installation.pythonFolder + ":" + path);
  for (const char* variable : {"ULPSCOPE_RECORD", "ULPSCOPE_OUTPUT"}) {
    python.environment.unset(variable);
  }
  return python;
}

std::vector<std::string> TorchPython::command(const std::string& module,
                                              const std::vector<std::string>& arguments) const {
  std::vector<std::string> words = {program, "-m", module};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace ulpscope
