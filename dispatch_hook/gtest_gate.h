#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "dispatch_hook/recorder.h"

/// The gate in a GoogleTest program:
///
///   TEST(Model, Forward) {
///     EXPECT_ULPSCOPE_GATE("ulpscope-gate/forward", model->forward(input));
///   }
///
/// records the statement and compares it with the numbers that `ulpscope gate` keeps in the folder; a
/// difference is a failure that names the op. With ULPSCOPE_UPDATE=1 in the environment (and
/// ULPSCOPE_REASON, for the history) the numbers are accepted instead. Needs the program `ulpscope` on
/// PATH, or named by ULPSCOPE_PROGRAM. Link ulpscope::hook and GTest.
#define EXPECT_ULPSCOPE_GATE(folder, ...)                                   \
  do {                                                                      \
    ::ulpscope::GateRecording ulpscopeGate((folder));                       \
    if (ulpscopeGate.started()) {                                           \
      __VA_ARGS__;                                                          \
    }                                                                       \
    const ::std::string ulpscopeAnswer = ulpscopeGate.finish();             \
    if (!ulpscopeAnswer.empty()) ADD_FAILURE() << ulpscopeAnswer;           \
  } while (false)

namespace ulpscope {

/// What EXPECT_ULPSCOPE_GATE does: records from its construction to finish(). Throws nothing of its own.
class GateRecording {
 public:
  explicit GateRecording(std::string folder) : folder_(std::move(folder)) {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "ulpscope-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      problem_ = "ulpscope: can't make a temporary folder; set TMPDIR to a place with room";
      return;
    }
    temporary_ = pattern;
    RecorderOptions options;
    options.path = (temporary_ / "run.ulps").string();
    if (const std::string why = startRecording(options); !why.empty()) {
      problem_ = "ulpscope can't record: " + why;
    }
  }
  /// Where the statement threw: the exception is the failure, nothing is compared.
  ~GateRecording() {
    if (started() && !finished_) stopRecording();
    std::error_code error;
    if (!temporary_.empty()) std::filesystem::remove_all(temporary_, error);
  }
  GateRecording(const GateRecording&) = delete;
  GateRecording& operator=(const GateRecording&) = delete;

  bool started() const { return problem_.empty(); }

  /// Ends the recording and compares. "" where the numbers are the accepted ones, else the answer.
  std::string finish() {
    if (!started()) return problem_;
    finished_ = true;
    const std::string trace = stopRecording();
    if (trace.empty()) return "ulpscope: no op ran, so there is nothing to compare";
    const char* update = std::getenv("ULPSCOPE_UPDATE");
    const bool accept = update != nullptr && *update != '\0' && std::string(update) != "0";
    const char* given = std::getenv("ULPSCOPE_REASON");
    const std::string reason = given != nullptr && *given != '\0' ? given : "Updated by its test.";
    if (!hasBaseline()) {
      if (!accept) return "ulpscope: there is no baseline in " + folder_ + "; accept these numbers with ULPSCOPE_UPDATE=1";
      const Result recorded = gate("record --trace " + quoted(trace) + " --reason " + quoted(reason));
      return recorded.status == 0 ? "" : recorded.output;
    }
    const Result checked = gate("check --trace " + quoted(trace));
    const bool changed = checked.status == 1 || checked.status == 3;
    if (accept && (changed || checked.status == 0)) {
      std::error_code error;
      if (!std::filesystem::exists(std::filesystem::path(folder_) / "checked/run.baseline", error)) return "";
      const Result accepted = gate("accept --reason " + quoted(reason));
      return accepted.status == 0 ? "" : accepted.output;
    }
    if (checked.status == 0) return "";
    return checked.output + (changed ? "\nOr, for this test: ULPSCOPE_UPDATE=1" : "");
  }

 private:
  struct Result {
    int status = 0;
    std::string output;
  };

  bool hasBaseline() const {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".baseline") return true;
    }
    return false;
  }

  static std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
  }

  Result gate(const std::string& arguments) const {
    const char* named = std::getenv("ULPSCOPE_PROGRAM");
    const std::string program = named != nullptr && *named != '\0' ? named : "ulpscope";
    const std::string command = quoted(program) + " gate " + arguments + " --dir " + quoted(folder_) + " 2>&1";
    Result result;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return {2, "ulpscope: can't run " + program};
    char part[4096];
    for (size_t size; (size = fread(part, 1, sizeof part, pipe)) > 0;) result.output.append(part, size);
    const int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
    if (result.status == 127) {
      result.output = "ulpscope: the program '" + program + "' is not there; put it on PATH or name it in ULPSCOPE_PROGRAM";
    }
    return result;
  }

  const std::string folder_;
  std::string problem_;
  std::filesystem::path temporary_;
  bool finished_ = false;
};

}  // namespace ulpscope
