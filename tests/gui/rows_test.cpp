#include <QAbstractItemModelTester>
#include <fstream>

#include "gui/models/rows_model.h"
#include "tests/gui/gui_fixture.h"

namespace ulpscope::gui {
namespace {

/// The rows as text: headings by their title, pairs as "A | label | B".
std::string dump(const RowsModel& model, int from = 0, int count = 1000) {
  std::string out;
  for (int i = from; i < std::min(model.rowCount(), from + count); ++i) {
    const RowsModel::Row row = model.row(i);
    const auto cell = [&](int column) { return model.index(i, column).data().toString(); };
    QString line = QString(row.depth * 2, ' ');
    if (row.heading) {
      line += (row.collapsed ? "+ " : "- ") + cell(RowsModel::columnA) + " (" +
              cell(RowsModel::columnB) + ")";
    } else {
      line += cell(RowsModel::columnA) + " | " + cell(RowsModel::columnLink) + " | " +
              cell(RowsModel::columnB);
    }
    out += line.trimmed().isEmpty() ? "\n" : line.toStdString() + "\n";
  }
  return out;
}

class RowsTest : public GuiTest {
 protected:
  RowsModel model_;
  QAbstractItemModelTester tester_{&model_, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(RowsTest, ShowsTheOriginInItsPlace) {
  write({.steps = 1});
  model_.setDocument(compared());
  ASSERT_TRUE(model_.reveal(model_.document()->opening()));
  const int row = model_.rowOf(model_.document()->opening());
  EXPECT_EQ(dump(model_, row - 5, 9), R"(          add | identical | add
          native_layer_norm | identical | native_layer_norm
          - transformer.h.1.mlp (2 ops, 1 starts here)
            addmm | identical | addmm
            - transformer.h.1.mlp.act (1 op, 1 starts here)
              gelu | starts here | cpp_fused_add_gelu_7
              add |  | 
    nll_loss_forward | carried on | nll_loss_forward
  - backward (20 ops, 20 carried on)
)");
}

TEST_F(RowsTest, FoldsAndUnfolds) {
  write();
  model_.setDocument(compared());
  const int all = model_.rowCount();
  model_.collapseFrom(FoldKind::step);
  EXPECT_EQ(model_.rowCount(), 2);
  EXPECT_TRUE(model_.row(0).heading);
  EXPECT_EQ(dump(model_).substr(0, 8), "+ step 0");
  EXPECT_EQ(model_.rowOf(model_.document()->opening()), -1);
  ASSERT_TRUE(model_.reveal(model_.document()->opening()));
  EXPECT_GE(model_.rowOf(model_.document()->opening()), 0);
  model_.collapseFrom(FoldKind::phase);
  EXPECT_EQ(dump(model_).find("module"), std::string::npos);
  model_.expandAll();
  EXPECT_EQ(model_.rowCount(), all);
  // Folding a node hides exactly its rows.
  const uint32_t node = model_.row(1).node;
  model_.setCollapsed(node, true);
  EXPECT_LT(model_.rowCount(), all);
  model_.setCollapsed(node, false);
  EXPECT_EQ(model_.rowCount(), all);
}

TEST_F(RowsTest, FindsEveryPairsRow) {
  write({.extraOp = true});
  model_.setDocument(compared());
  const auto check = [&] {
    int found = 0;
    for (uint32_t pair = 0; pair < model_.document()->pairs().size(); ++pair) {
      const int row = model_.rowOf(pair);
      if (row < 0) continue;
      ++found;
      EXPECT_EQ(model_.row(row).pair, pair);
      EXPECT_EQ(model_.pairAt(row), pair);
    }
    return found;
  };
  EXPECT_EQ(check(), int(model_.document()->pairs().size()));
  QString problem;
  model_.setFilter(*parseFilter("addmm", &problem));
  EXPECT_EQ(check(), model_.visiblePairs());
  EXPECT_GT(model_.visiblePairs(), 0);
  EXPECT_LT(model_.visiblePairs(), int64_t(model_.document()->pairs().size()));
  EXPECT_FALSE(model_.reveal(model_.document()->opening()));
  model_.setFilter(*parseFilter("nothing-has-this-name", &problem));
  EXPECT_EQ(model_.rowCount(), 0);
}

TEST_F(RowsTest, ShowsGapsWhereASideHasNoOp) {
  write({.fused = false, .extraOp = true});
  model_.setDocument(compared());
  QString problem;
  model_.setFilter(*parseFilter("label:structural", &problem));
  const std::string rows = dump(model_);
  EXPECT_NE(rows.find(" | structure differs | clone"), std::string::npos) << rows;
}

TEST_F(RowsTest, ATraceAloneHasOneSide) {
  write();
  model_.setDocument(openTrace(b(), {}));
  ASSERT_GT(model_.rowCount(), 40);
  for (int i = 0; i < model_.rowCount(); ++i) {
    if (model_.row(i).heading) continue;
    EXPECT_FALSE(model_.index(i, RowsModel::columnA).data().toString().isEmpty());
    EXPECT_TRUE(model_.index(i, RowsModel::columnLink).data().toString().isEmpty());
  }
}

TEST_F(RowsTest, KeepsFoldingWhenTheTraceGrows) {
  write({.steps = 2});
  const auto first = openTrace(a(), {});
  model_.setDocument(first);
  model_.setCollapsed(model_.row(0).node, true);
  const int folded = model_.rowCount();
  model_.setDocument(openTrace(a(), {}), true);
  EXPECT_EQ(model_.rowCount(), folded);
  model_.setDocument(openTrace(a(), {}), false);
  EXPECT_GT(model_.rowCount(), folded);
  model_.setDocument(nullptr);
  EXPECT_EQ(model_.rowCount(), 0);
}

}  // namespace
}  // namespace ulpscope::gui
