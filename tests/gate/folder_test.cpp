#include "gate/folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/temp_folder.h"

namespace ulpscope::gate {
namespace {

std::vector<KeyValue> environment(const std::string& threads, const std::string& capability = "AVX2") {
  return {{"torch.version", "2.13.0"}, {"cpu.capability", capability}, {"threads.intra_op", threads},
          {"random.initial_seed", "7"}};
}

void put(const Folder& folder, const std::vector<KeyValue>& environment) {
  Baseline baseline;
  baseline.environment = environment;
  std::ostringstream text;
  write(baseline, text);
  Folder::writeFile(folder.baselineFile(environmentKey(environment)), text.str());
}

TEST(EnvironmentKey, SaysWhatChangesBits) {
  EXPECT_TRUE(environmentKey(environment("1")).starts_with("torch2.13.0-AVX2-1thread-"));
  EXPECT_TRUE(environmentKey(environment("2")).starts_with("torch2.13.0-AVX2-2threads-"));
  EXPECT_NE(environmentKey(environment("1")), environmentKey(environment("1", "AVX512")));
  auto seeded = environment("1");
  seeded.back().value = "8";  // the program's own doing
  EXPECT_EQ(environmentKey(environment("1")), environmentKey(seeded));
  auto steered = environment("1");
  steered.push_back({"env.MKL_CBWR", "COMPATIBLE"});
  EXPECT_NE(environmentKey(environment("1")), environmentKey(steered));
  EXPECT_EQ(environmentKey({{"torch.version", "a/b c"}}).find_first_of("/ "), std::string::npos);
}

TEST(Folder, FindsTheExactOrElseTheNearest) {
  const testing::TempFolder temporary;
  const Folder folder(temporary.file("gate"));
  EXPECT_FALSE(folder.nearest(environment("1")));
  put(folder, environment("1"));
  put(folder, environment("1", "AVX512"));
  std::ofstream(temporary.file("gate/other.baseline")) << "something else\n";
  EXPECT_EQ(folder.baselines().size(), 2u);
  EXPECT_EQ(folder.nearest(environment("1", "AVX512"))->key, environmentKey(environment("1", "AVX512")));
  EXPECT_EQ(folder.nearest(environment("4"))->key, environmentKey(environment("1")));
  EXPECT_EQ(folder.nearest(environment("4", "AVX512"))->key, environmentKey(environment("1", "AVX512")));
}

TEST(Folder, FindsItsRules) {
  const testing::TempFolder temporary;
  const Folder folder(temporary.path());
  EXPECT_EQ(folder.rulesFile(), "");
  Folder::writeFile(temporary.file("rules.toml"), "");
  EXPECT_EQ(folder.rulesFile(), temporary.file("rules.toml"));
}

}  // namespace
}  // namespace ulpscope::gate
