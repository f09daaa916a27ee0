// A program that knows nothing of ulpscope, recorded through the preload stub.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "store/reader.h"
#include "tests/support/temp_folder.h"

namespace ulpscope::testing {
namespace {

struct Outcome {
  int status = 0;
  std::string output;
};

std::string text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& variables,
            const std::string& output) {
  const pid_t child = fork();
  if (child != 0) return child;
  const int file = open(output.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  dup2(file, 1);
  dup2(file, 2);
  for (const std::string& each : variables) putenv(const_cast<char*>(each.c_str()));
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

class Preload : public ::testing::Test {
 protected:
  std::vector<std::string> recording(const std::string& trace) const {
    return {"LD_PRELOAD=" ULPSCOPE_PRELOAD, "ULPSCOPE_HOOK=" ULPSCOPE_HOOK_FILE,
            "ULPSCOPE_OUTPUT=" + trace};
  }
  Outcome run(const std::vector<std::string>& command,
              const std::vector<std::string>& variables = {}) const {
    const std::string output = folder_.file("output");
    const pid_t child = start(command, variables, output);
    Outcome outcome;
    waitpid(child, &outcome.status, 0);
    outcome.output = text(output);
    return outcome;
  }
  TempFolder folder_;
};

TEST_F(Preload, RecordsATrainingRunWithoutChangingABit) {
  const Outcome plain = run({ULPSCOPE_TRAIN, "1", "3"});
  ASSERT_EQ(plain.status, 0) << plain.output;
  const std::string trace = folder_.file("run.ulps");
  const Outcome recorded = run({ULPSCOPE_TRAIN, "1", "3"}, recording(trace));
  EXPECT_EQ(recorded.status, 0);
  EXPECT_EQ(recorded.output, plain.output);

  const Reader reader(trace);
  EXPECT_TRUE(reader.complete());
  const OpTable table = reader.readAll();
  EXPECT_GT(table.ops.size(), 400u);
  EXPECT_EQ(reader.coverage().closure(), 1.0);
  std::set<std::string> optimizers;
  std::set<int32_t> steps;
  for (const Op& op : table.ops) {
    if (op.phase == Phase::optimizer) {
      optimizers.insert(reader.region(op.region).name);
      steps.insert(op.step);
    }
  }
  EXPECT_EQ(optimizers, (std::set<std::string>{"AdamW", "SGD"}));
  EXPECT_EQ(steps, (std::set<int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(Preload, TwoRunsGiveEqualFingerprints) {
  std::vector<std::vector<std::string>> digests;
  for (const char* name : {"a.ulps", "b.ulps"}) {
    run({ULPSCOPE_TRAIN, "1", "2"}, recording(folder_.file(name)));
    const Reader reader(folder_.file(name));
    auto& mine = digests.emplace_back();
    const OpTable table = reader.readAll();
    for (const Operand& operand : table.operands) {
      mine.push_back(toHex(reader.digest(operand.fingerprint)) + "/" +
                     std::to_string(operand.storage.value));
    }
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST_F(Preload, AKilledProcessLeavesWhatItDid) {
  const std::string trace = folder_.file("run.ulps");
  const pid_t child = start({ULPSCOPE_TRAIN, "1", "100000"}, recording(trace), "/dev/null");
  for (int i = 0; i < 600 && access(trace.c_str(), F_OK) != 0; ++i) usleep(100'000);
  usleep(1'500'000);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  const Reader reader(trace);
  EXPECT_FALSE(reader.complete());
  EXPECT_GT(reader.readAll().ops.size(), 10u);
}

TEST_F(Preload, OtherProgramsAreLeftAlone) {
  const std::string trace = folder_.file("run.ulps");
  const Outcome echo = run({"echo", "hello"}, recording(trace));
  EXPECT_EQ(echo.status, 0);
  EXPECT_EQ(echo.output, "hello\n");
  EXPECT_NE(access(trace.c_str(), F_OK), 0);
}

TEST_F(Preload, WithoutAnOutputNothingIsRecorded) {
  const Outcome outcome = run({ULPSCOPE_TRAIN, "1", "1"}, {"LD_PRELOAD=" ULPSCOPE_PRELOAD});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output.find("ulpscope"), std::string::npos);
}

TEST_F(Preload, AMissingRecorderIsOneLineAndTheProgramRuns) {
  const Outcome outcome =
      run({ULPSCOPE_TRAIN, "1", "1"}, {"LD_PRELOAD=" ULPSCOPE_PRELOAD,
                                       "ULPSCOPE_HOOK=/nonexistent/hook.so",
                                       "ULPSCOPE_OUTPUT=" + folder_.file("run.ulps")});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find("ulpscope: nothing is recorded"), std::string::npos);
  EXPECT_NE(outcome.output.find("net "), std::string::npos);
}

TEST_F(Preload, HoweverAProcessEndsItsStatusIsItsOwn) {
  const std::vector<std::pair<std::string, int>> ways{
      {"main", 4}, {"thread", 5}, {"_exit", 6}, {"exec", 7}};
  for (const auto& [how, status] : ways) {
    const std::string trace = folder_.file(how + ".ulps");
    const Outcome outcome = run({ULPSCOPE_OUTLIVE, how}, recording(trace));
    EXPECT_TRUE(WIFEXITED(outcome.status)) << how << ": " << outcome.output;
    EXPECT_EQ(WEXITSTATUS(outcome.status), status) << how << ": " << outcome.output;
    if (how == "_exit" || how == "exec") continue;  // what was committed by then is there
    EXPECT_TRUE(Reader(trace).complete()) << how;
    EXPECT_GT(Reader(trace).opCount(), 1000) << how;
  }
}

TEST_F(Preload, AShellAroundTheProgramIsNoObstacle) {
  const std::string trace = folder_.file("run.ulps");
  const Outcome outcome =
      run({"sh", "-c", std::string(ULPSCOPE_TRAIN) + " 1 1; exit 7"}, recording(trace));
  EXPECT_EQ(WEXITSTATUS(outcome.status), 7);
  EXPECT_TRUE(Reader(trace).complete());
}

}  // namespace
}  // namespace ulpscope::testing
