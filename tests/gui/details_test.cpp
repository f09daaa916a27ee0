#include <QAbstractItemModelTester>

#include "gui/models/details_model.h"
#include "gui/models/source_text.h"
#include "tests/gui/gui_fixture.h"

namespace ulpscope::gui {
namespace {

/// Sections and their rows, without the statistics below; the ops of a group with their operands.
std::string dump(const DetailsModel& model) {
  std::string out;
  for (int i = 0; i < model.rowCount(); ++i) {
    const QModelIndex section = model.index(i, 0);
    out += section.data().toString().toStdString() + "\n";
    const auto rows = [&](auto& self, const QModelIndex& parent, const std::string& indent) -> void {
      for (int j = 0; j < model.rowCount(parent); ++j) {
        QStringList cells;
        for (int column = 0; column < model.columnCount(); ++column)
          cells << model.index(j, column, parent).data().toString();
        const QModelIndex row = model.index(j, 0, parent);
        const bool op = row.data(DetailsModel::OpRole).toBool();
        out += indent + (op ? cells[0] : cells.join(" | ")).toStdString() + "\n";
        if (op) self(self, row, indent + "  ");
      }
    };
    rows(rows, section, "  ");
  }
  return out;
}

class DetailsTest : public GuiTest {
 protected:
  /// A cell of a statistic below an operand: section, operand, statistic.
  QModelIndex statistic(int section, int operand, const QString& name) {
    const QModelIndex parent = model_.index(operand, 0, model_.index(section, 0));
    for (int i = 0; i < model_.rowCount(parent); ++i)
      if (model_.index(i, 0, parent).data() == name) return model_.index(i, 0, parent);
    return {};
  }
  DetailsModel model_;
  QAbstractItemModelTester tester_{&model_, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(DetailsTest, ShowsAnOriginsOperandsSideBySide) {
  write({.fused = false});
  const auto document = compared();
  model_.setPair(document, document->opening());
  const std::string text = dump(model_);
  EXPECT_NE(text.find("Inputs\n  arg0 | f32[4, 8] | f32[4, 8] | identical\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Written\n  out0 | f32[4, 8] | f32[4, 8] | 1."), std::string::npos) << text;
  EXPECT_NE(text.find("module | transformer.h.1.mlp.act (NewGELU) | "), std::string::npos) << text;
  const QModelIndex output = model_.index(0, 0, model_.index(0, 0));
  EXPECT_TRUE(output.data(DetailsModel::DiffersRole).toBool());
  const QModelIndex digest = statistic(0, 0, "digest");
  ASSERT_TRUE(digest.isValid());
  EXPECT_TRUE(digest.data(DetailsModel::DiffersRole).toBool());
  EXPECT_EQ(digest.siblingAtColumn(DetailsModel::columnA).data().toString().size(), 12);
  EXPECT_EQ(statistic(0, 0, "NaN").siblingAtColumn(DetailsModel::columnB).data(), "0");
  EXPECT_EQ(statistic(0, 0, "strides").siblingAtColumn(DetailsModel::columnA).data(), "contiguous");
}

TEST_F(DetailsTest, NamesTheOpOfEachValueOfAGroup) {
  write();
  const auto document = compared();
  model_.setPair(document, document->opening());
  const std::string text = dump(model_);
  EXPECT_NE(text.find("  gelu  #18\n    out0 | f32[4, 8] | f32[4, 8] | "), std::string::npos) << text;
  EXPECT_NE(text.find("  add  #19\n    out0 | f32[4, 8] | f32[4, 8] | "), std::string::npos) << text;
  // What gelu hands to add stays inside the group.
  EXPECT_NE(text.find("  add  #19\n    arg1 | "), std::string::npos) << text;
}

TEST_F(DetailsTest, ComparesScalarArguments) {
  write({.fused = false});
  const auto document = compared();
  model_.setPair(document, pairNamed(*document, "aten::_fused_adamw_"));
  EXPECT_NE(dump(model_).find("Scalar arguments\n  arg2 | 0.001 | 0.001 | \n"), std::string::npos)
      << dump(model_);
}

TEST_F(DetailsTest, EmptiesForNoPair) {
  write();
  const auto document = compared();
  model_.setPair(document, 0);
  EXPECT_GT(model_.rowCount(), 0);
  model_.setPair(document, kNoPair);
  EXPECT_EQ(model_.rowCount(), 0);
  model_.setPair(nullptr, 0);
  EXPECT_EQ(model_.rowCount(), 0);
}

TEST_F(DetailsTest, ShowsStacksAndKernels) {
  write();
  const auto document = compared();
  const QString stack = stackHtml(*document, document->opening());
  EXPECT_TRUE(stack.contains("modeling_gpt2.py:")) << stack.toStdString();
  const QString kernel = kernelHtml(*document, document->opening());
  EXPECT_TRUE(kernel.contains("aten::gelu"));
  EXPECT_TRUE(kernel.contains("extern &quot;C&quot;")) << "generated code must be escaped";
  EXPECT_TRUE(kernelHtml(*document, 0).isEmpty());
}

}  // namespace
}  // namespace ulpscope::gui
