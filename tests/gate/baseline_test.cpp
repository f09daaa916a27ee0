#include "gate/baseline.h"

#include <gtest/gtest.h>

#include <sstream>

#include "store/error.h"

namespace ulpscope::gate {
namespace {

std::string text(const Baseline& baseline) {
  std::ostringstream out;
  write(baseline, out);
  return out.str();
}

Baseline twoSteps() {
  Baseline baseline;
  baseline.command = {"python", "train me.py"};
  baseline.environment = {{"torch.version", "2.13.0"}, {"note", "two\nlines 100%"}};
  Schema schema;
  schema.name = "aten::mm";
  schema.arguments = {"self", "mat2"};
  schema.returns = {""};
  baseline.schemas = {schema};
  baseline.sections = {{0, {"F - aten::mm o0:+:f32[]", "F - aten::mm i0:n1:f32[]"}, {"mm AAAAAAAA", "mm ="}},
                       {1, {"F - aten::mm o0:+:f32[]", "F - aten::mm i0:n1:f32[2]"}, {"mm BBBBBBBB", "mm ="}}};
  return baseline;
}

TEST(Baseline, WritesAStepAsWhatChanged) {
  EXPECT_EQ(text(twoSteps()),
            "ulpscope gate baseline 1\n"
            "command python train%20me.py\n"
            "environment torch.version 2.13.0\n"
            "environment note two%0Alines%20100%25\n"
            "schema aten::mm % self mat2 > %\n"
            "step 0 ops 2\n"
            "F - aten::mm o0:+:f32[]\n"
            "F - aten::mm i0:n1:f32[]\n"
            "values\n"
            "mm AAAAAAAA\n"
            "mm =\n"
            "step 1 like 1\n"
            "=1 F - aten::mm i0:n1:f32[2]\n"
            "values\n"
            "mm BBBBBBBB\n"
            "mm =\n"
            "end complete\n");
}

TEST(Baseline, ReadsBack) {
  const Baseline written = twoSteps();
  const Baseline back = parse(text(written), "x");
  EXPECT_TRUE(back.sameRun(written));
  EXPECT_EQ(back.command, written.command);
  EXPECT_EQ(back.environment[1].value, "two\nlines 100%");
  EXPECT_EQ(back.schemas[0].arguments, written.schemas[0].arguments);
  EXPECT_EQ(text(back), text(written));
}

TEST(Baseline, ADifferenceIsSeen) {
  for (int what = 0; what < 4; ++what) {
    Baseline other = twoSteps();
    if (what == 0) other.sections[1].values[0] = "mm CCCCCCCC";
    if (what == 1) other.sections[0].structure[0] += " #raised";
    if (what == 2) other.sections.pop_back();
    if (what == 3) other.complete = false;
    EXPECT_FALSE(other.sameRun(twoSteps())) << what;
  }
}

TEST(Baseline, RefusesWhatIsNone) {
  const std::string good = text(twoSteps());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    return bad;
  };
  const std::string cases[] = {
      "",
      "hello\n",
      "ulpscope gate baseline 2\nend complete\n",
      good.substr(0, good.size() - 1),
      good.substr(0, good.find("end ")),
      good + "more\n",
      with("step 0 ops 2", "step 0 ops 9"),
      with("step 0 ops 2", "step 0 ops -1"),
      with("step 0 ops 2", "step 0 ops 99999999999999999999"),
      with("step 0 ops 2", "step 0 like 2"),
      with("step 1 like 1", "step 1 near 1"),
      with("=1 F", "=7 F"),
      with("=1 F", "F"),
      with("values", "valued"),
      with("schema aten::mm", "scheme aten::mm"),
      with("environment note", "environment note more"),
  };
  for (const std::string& each : cases) {
    try {
      parse(each, "file.baseline");
      ADD_FAILURE() << each;
    } catch (const TraceError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("file.baseline")) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(Word, ReadsBack) {
  for (const std::string each : {"", "a", "a b", "%", "100%", "\n\t\x7f", "\xC3\xA4", "%41"}) {
    EXPECT_EQ(unword(word(each)), each);
    EXPECT_EQ(word(each).find(' '), std::string::npos);
    EXPECT_FALSE(word(each).empty());
  }
}

}  // namespace
}  // namespace ulpscope::gate
