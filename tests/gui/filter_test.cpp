#include "gui/models/filter.h"
#include "tests/gui/gui_fixture.h"

namespace ulpscope::gui {
namespace {

class FilterTest : public GuiTest {
 protected:
  /// How many pairs of the sample hold.
  int count(const Document& document, const QString& text) {
    QString problem;
    const auto filter = parseFilter(text, &problem);
    EXPECT_TRUE(filter) << problem.toStdString();
    if (!filter) return -1;
    const FilterMatcher matcher(document, *filter);
    int found = 0;
    for (uint32_t i = 0; i < document.pairs().size(); ++i) found += matcher.matches(i);
    return found;
  }
};

TEST_F(FilterTest, NamesWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"label:nonsense", "label"},  {"dtype:float33", "dtype"}, {"phase:sideways", "phase"},
      {"step:two", "step"},         {"is:tall", "is:kernel"},   {"colour:red", "colour"},
      {"gelu label:wrong", "wrong"}};
  for (const auto& [text, part] : cases) {
    QString problem;
    EXPECT_FALSE(parseFilter(text, &problem)) << text;
    EXPECT_TRUE(problem.contains(part)) << problem.toStdString();
    EXPECT_FALSE(problem.contains('\n'));
  }
  QString problem;
  EXPECT_TRUE(parseFilter("  ", &problem)->empty());
  // Two colons belong to an operator's name.
  EXPECT_EQ(parseFilter("aten::add", &problem)->words[0].kind, Filter::Word::Kind::any);
}

TEST_F(FilterTest, SelectsByOpModuleLabelAndMore) {
  write({.fused = false});
  const auto document = compared();
  const int all = int(document->pairs().size());
  EXPECT_EQ(count(*document, ""), all);
  // Two blocks in two steps.
  EXPECT_EQ(count(*document, "op:gelu"), 4);
  EXPECT_EQ(count(*document, "op:GELU step:0"), 2);
  EXPECT_EQ(count(*document, "op:gelu step:0 module:h.1"), 1);
  EXPECT_EQ(count(*document, "op:gelu -module:h.1"), 2);
  EXPECT_EQ(count(*document, "NewGELU phase:forward"), 4);
  EXPECT_EQ(count(*document, "op:embedding phase:backward"), 0);
  EXPECT_EQ(count(*document, "dtype:f32"), all);
  EXPECT_EQ(count(*document, "dtype:float32"), all);
  EXPECT_EQ(count(*document, "dtype:bf16"), 0);
  EXPECT_EQ(count(*document, "is:kernel"), 0);
  EXPECT_EQ(count(*document, "label:origin"), 1);
  EXPECT_EQ(count(*document, "label:origin op:gelu module:h.1.mlp.act step:0"), 1);
  EXPECT_EQ(count(*document, "is:differing") + count(*document, "label:identical"), all);
}

TEST_F(FilterTest, FindsKernelsOfEitherSide) {
  write();
  const auto document = compared();
  EXPECT_EQ(count(*document, "is:kernel"), 4);
  EXPECT_EQ(count(*document, "op:cpp_fused"), 4);
}

}  // namespace
}  // namespace ulpscope::gui
