#include "cli/record_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/installation.h"
#include "cli/verb.h"

namespace ulpscope {
namespace {

/// One text for an environment variable; the hook tells a separating ':' from the "::" of a name.
std::string joined(const std::vector<std::string>& globs) {
  return fmt::format("{}", fmt::join(globs, ":"));
}

void setOrUnset(ChildEnvironment& environment, const char* name, const std::string& value) {
  if (value.empty()) {
    environment.unset(name);
  } else {
    environment.set(name, value);
  }
}

ChildEnvironment recordingEnvironment(const RecordFlags& flags, const OutputFiles& files,
                                      const Installation& installation) {
  ChildEnvironment environment;
  environment.set("ULPSCOPE_RECORD", "1");
  environment.set("ULPSCOPE_OUTPUT", files.file().string());
  environment.set("ULPSCOPE_INPUTS", flags.inputs);
  environment.set("ULPSCOPE_LEVEL", flags.level);
  setOrUnset(environment, "ULPSCOPE_STACKS", flags.stacks ? "1" : "");
  setOrUnset(environment, "ULPSCOPE_INCLUDE", joined(flags.include));
  setOrUnset(environment, "ULPSCOPE_EXCLUDE", joined(flags.exclude));
  setOrUnset(environment, "ULPSCOPE_STEPS", flags.steps);
  setOrUnset(environment, "ULPSCOPE_CAPTURE", joined(flags.capture));
  environment.set("ULPSCOPE_CAPTURE_LIMIT", std::to_string(flags.captureLimit));
  setOrUnset(environment, "ULPSCOPE_AGAINST",
             flags.against.empty() ? "" : std::filesystem::absolute(flags.against).string());
  setOrUnset(environment, "ULPSCOPE_ON_DIVERGENCE", flags.onDivergence);

  // After libraries that are preloaded already (allocators and sanitizers insist on being first).
  const std::string preloaded = environment.get("LD_PRELOAD");
  environment.set("LD_PRELOAD", preloaded.empty() ? installation.preload
                                                  : preloaded + ":" + installation.preload);
  if (!installation.inject.empty()) {
    // The injected sitecustomize puts the original PYTHONPATH back.
    const bool had = environment.has("PYTHONPATH");
    const std::string original = environment.get("PYTHONPATH");
    setOrUnset(environment, "ULPSCOPE_ORIGINAL_PYTHONPATH", original);
    environment.set("PYTHONPATH", had && !original.empty() ? installation.inject + ":" + original
                                                           : installation.inject);
  }
  return environment;
}

}  // namespace

ExitStatus recordCommand(const RecordFlags& flags, const OutputFiles& files,
                         const std::vector<std::string>& command) {
  const Installation installation = Installation::find();
  if (installation.preload.empty()) {
    throw CommandError("this build has no recorder; build with -DULPSCOPE_BUILD_HOOK=ON, then see "
                       "`ulpscope doctor`");
  }
  return runCommand(command, recordingEnvironment(flags, files, installation));
}

}  // namespace ulpscope
