#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QFile>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QStatusBar>
#include <QTest>
#include <QTreeView>
#include <fstream>

#include "gui/widgets/dataflow_view.h"
#include "gui/widgets/error_plot.h"
#include "gui/widgets/export_picture.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/minimap.h"
#include "gui/widgets/rows_view.h"
#include "gui/widgets/verdict_banner.h"
#include "tests/gui/gui_fixture.h"
#include "tests/gui/window_driver.h"

namespace ulpscope::gui {
namespace {

class WindowTest : public WindowDriver<GuiTest> {};

TEST_F(WindowTest, OpensOnTheFirstDivergenceWithTheAnswerOnTop) {
  write();
  open(a(), b());
  EXPECT_TRUE(banner().contains("First divergent op: <b>aten::gelu</b>")) << banner().toStdString();
  EXPECT_FALSE(part<QLabel>("bannerExplanation")->text().isEmpty());
  EXPECT_EQ(pair(), document().opening());
  auto* rows = part<RowsView>("rows");
  const QModelIndex current = rows->currentIndex();
  EXPECT_EQ(current.data().toString(), "gelu");
  EXPECT_TRUE(rows->viewport()->rect().contains(rows->visualRect(current)));
  EXPECT_TRUE(part<QLabel>("detailsTitle")->text().contains("starts here"));
  EXPECT_TRUE(part<QLabel>("starts")->text().startsWith("start 1 of"));
}

TEST_F(WindowTest, WalksFromALaterOpToItsProducerAndToTheOrigin) {
  write({.steps = 1, .fused = false});
  open(a(), b());
  const uint32_t origin = pair();
  auto* rows = part<RowsView>("rows");
  const uint32_t later = pairNamed(document(), "aten::nll_loss_forward");
  ASSERT_GT(later, origin);
  // By mouse on the row.
  const int row = window_.rows().rowOf(later);
  rows->scrollTo(window_.rows().index(row, 0));
  QTest::mouseClick(rows->viewport(), Qt::LeftButton, {},
                    rows->visualRect(window_.rows().index(row, 0)).center());
  ASSERT_EQ(pair(), later);
  key(Qt::Key_Up, Qt::AltModifier);
  const uint32_t producer = pair();
  EXPECT_EQ(rows->currentIndex().data().toString(), "add");
  EXPECT_LT(producer, later);
  key(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(pair(), later);
  key(Qt::Key_Up, Qt::ControlModifier);
  EXPECT_EQ(pair(), origin);
  EXPECT_TRUE(status().startsWith("walked up 2 ops")) << status().toStdString();
}

TEST_F(WindowTest, WalksInTheDataflowByKeysAlone) {
  write({.steps = 1, .fused = false});
  open(a(), b());
  const uint32_t origin = pair();
  auto* flow = part<DataflowView>("dataflow");
  key(Qt::Key_F3);
  ASSERT_TRUE(flow->hasFocus());
  QTest::keyClick(flow, Qt::Key_Right);  // to the consumer that differs
  QTest::keyClick(flow, Qt::Key_Return);
  EXPECT_EQ(part<RowsView>("rows")->currentIndex().data().toString(), "add");
  QTest::keyClick(flow, Qt::Key_Left);  // the producer that differs has the focus first
  EXPECT_EQ(flow->focused(), origin);
  QTest::keyClick(flow, Qt::Key_Return);
  EXPECT_EQ(pair(), origin);
  window_.selection().choose(pairNamed(document(), "aten::nll_loss_forward"));
  QTest::keyClick(flow, Qt::Key_O);
  EXPECT_EQ(pair(), origin);
}

TEST_F(WindowTest, FiltersWhileTyping) {
  write();
  open(a(), b());
  const int all = window_.rows().rowCount();
  key(Qt::Key_Slash);
  auto* search = part<QLineEdit>("search");
  ASSERT_TRUE(search->hasFocus());
  QTest::keyClicks(search, "op:addmm step:0");
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.rows().visiblePairs() == 6; }))
      << window_.rows().visiblePairs();
  EXPECT_TRUE(part<QLabel>("matches")->text().startsWith("6 of "));
  QTest::keyClicks(search, " label:wrong");
  ASSERT_TRUE(QTest::qWaitFor([&] { return part<QLabel>("matches")->text().contains("wrong"); }));
  EXPECT_EQ(window_.rows().visiblePairs(), 6) << "a wrong word must not change what is shown";
  QTest::keyClick(search, Qt::Key_Escape);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.rows().rowCount() == all; }));
  QTest::mouseClick(part<QPushButton>("onlyDiffering"), Qt::LeftButton);
  EXPECT_LT(window_.rows().rowCount(), all);
  EXPECT_EQ(part<RowsView>("rows")->currentIndex().data().toString(), "gelu");
}

TEST_F(WindowTest, FoldsByKeys) {
  write();
  open(a(), b());
  key(Qt::Key_1, Qt::ControlModifier);
  EXPECT_EQ(window_.rows().rowCount(), 2);
  auto* rows = part<RowsView>("rows");
  rows->setFocus();
  rows->setCurrentIndex(window_.rows().index(0, 0));
  QTest::keyClick(rows, Qt::Key_Right);
  const int unfolded = window_.rows().rowCount();
  EXPECT_GT(unfolded, 2);
  QTest::keyClick(rows, Qt::Key_Left);
  EXPECT_EQ(window_.rows().rowCount(), 2);
  // The mark at the left of a heading does the same.
  QTest::mouseClick(rows->viewport(), Qt::LeftButton, {},
                    QPoint(14, rows->visualRect(window_.rows().index(0, 0)).center().y()));
  EXPECT_EQ(window_.rows().rowCount(), unfolded);
  key(Qt::Key_F7);
  EXPECT_EQ(rows->currentIndex().data().toString(), "gelu");
}

TEST_F(WindowTest, GoesWhereTheMapAndThePlotAreClicked) {
  write();
  open(a(), b());
  auto* map = part<Minimap>("minimap");
  QTest::mouseClick(map, Qt::LeftButton, {}, QPoint(map->width() / 2, map->height() - 5));
  EXPECT_GT(pair(), uint32_t(document().pairs().size() * 9 / 10));
  QTest::mouseClick(map, Qt::LeftButton, {}, QPoint(map->width() / 2, 5));
  EXPECT_LT(pair(), uint32_t(document().pairs().size() / 10));
  auto* plot = part<ErrorPlot>("plot");
  QTest::mouseClick(plot, Qt::LeftButton, {}, QPoint(plot->width() - 14, plot->height() / 2));
  EXPECT_GT(pair(), uint32_t(document().pairs().size() * 9 / 10));
}

TEST_F(WindowTest, PairsTwoOpsByHandAndDiffsAgain) {
  write({.steps = 1, .fused = false, .extraOp = true});
  open(a(), b());
  uint32_t extra = kNoPair;
  for (uint32_t i = 0; i < document().pairs().size(); ++i)
    if (document().pairs()[i].countA == 0) extra = i;
  ASSERT_NE(extra, kNoPair);
  const OpId ofB = document().result.b.ops.ops[document().result.opsB(document().pairs()[extra])[0]].id;
  const uint32_t partner = pairNamed(document(), "aten::addmm");
  const OpId ofA = document().result.a.ops.ops[document().result.opsA(document().pairs()[partner])[0]].id;

  window_.selection().choose(extra);
  key(Qt::Key_M, Qt::ControlModifier);
  window_.selection().choose(partner);
  bool shown = false;
  QObject::connect(&window_, &MainWindow::shown, [&] { shown = true; });
  key(Qt::Key_P, Qt::ControlModifier);
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown; }, 20'000)) << status().toStdString();

  const uint32_t paired = document().pairOf(SideName::a, ofA);
  EXPECT_EQ(paired, document().pairOf(SideName::b, ofB));
  EXPECT_EQ(document().pairs()[paired].method, Method::mapping);
  EXPECT_TRUE(QFile::exists(QString::fromStdString(a()) + ".map.toml"));
  key(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().contains("--map"));
}

TEST_F(WindowTest, KeepsNotesBesideTheTrace) {
  write();
  open(a(), b());
  key(Qt::Key_N, Qt::ControlModifier);
  auto* note = part<QLineEdit>("note");
  ASSERT_TRUE(note->hasFocus());
  QTest::keyClicks(note, "tanh form");
  QTest::keyClick(note, Qt::Key_Return);
  EXPECT_TRUE(QFile::exists(QString::fromStdString(a()) + ".notes.json"));
  window_.selection().choose(0);
  EXPECT_TRUE(note->text().isEmpty());
  key(Qt::Key_B, Qt::ControlModifier);

  open(a(), b());
  EXPECT_EQ(note->text(), "tanh form");
  key(Qt::Key_B, Qt::ControlModifier | Qt::ShiftModifier);
  auto* list = window_.findChild<QListWidget*>("notes");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->count(), 2);
  list->setCurrentRow(0);
  QTest::keyClick(list, Qt::Key_Return);
  EXPECT_EQ(pair(), 0U);
}

TEST_F(WindowTest, ExportsPictures) {
  write();
  open(a(), b());
  QString problem;
  const QString png = QString::fromStdString(file("window.png"));
  ASSERT_TRUE(exportPicture(window_, png, &problem)) << problem.toStdString();
  const QImage image(png);
  EXPECT_EQ(image.size(), window_.size() * 2);
  for (const char* name : {"plot", "minimap", "dataflow", "rows"}) {
    const QString svg = QString::fromStdString(file(name)) + ".svg";
    ASSERT_TRUE(exportPicture(*part<QWidget>(name), svg, &problem)) << problem.toStdString();
    QFile written(svg);
    ASSERT_TRUE(written.open(QIODevice::ReadOnly));
    const QByteArray content = written.readAll();
    EXPECT_TRUE(content.contains("<svg"));
    EXPECT_GT(content.count("<path") + content.count("<rect") + content.count("<polyline"), 5) << name;
  }
  EXPECT_FALSE(exportPicture(window_, "/nonexistent/folder/x.png", &problem));
  EXPECT_FALSE(problem.contains('\n'));
}

TEST_F(WindowTest, SaysWhatIsWrongAndStaysUsable) {
  std::ofstream(file("foreign.ulps")) << "this is no trace";
  std::ofstream(file("empty.ulps"));
  for (const std::string& path : {file("missing.ulps"), file("foreign.ulps"), file("empty.ulps")}) {
    open(path);
    EXPECT_EQ(banner(), "This can't be shown");
    const QString why = part<QLabel>("bannerExplanation")->text();
    EXPECT_TRUE(why.contains(".ulps")) << why.toStdString();
    EXPECT_FALSE(window_.busy());
  }
  write();
  open(a(), b());
  EXPECT_TRUE(banner().contains("aten::gelu"));
  // A bad file after a good one: what was there stays to look at.
  open(file("foreign.ulps"));
  EXPECT_EQ(banner(), "This can't be shown");
  EXPECT_NE(window_.document(), nullptr);
  key(Qt::Key_F8);
  // A file that breaks off in the middle either opens as far as it goes or says so.
  QFile whole(QString::fromStdString(a()));
  ASSERT_TRUE(whole.open(QIODevice::ReadOnly));
  const QByteArray bytes = whole.readAll();
  for (int part = 1; part < 8; ++part) {
    QFile cut(QString::fromStdString(file("cut.ulps")));
    ASSERT_TRUE(cut.open(QIODevice::WriteOnly));
    cut.write(bytes.left(bytes.size() * part / 8));
    cut.close();
    open(file("cut.ulps"));
    EXPECT_FALSE(banner().isEmpty());
  }
  open(a(), b());
  EXPECT_TRUE(banner().contains("aten::gelu"));
}

TEST_F(WindowTest, SaysThatATraceIsOfANewerVersionAndStaysUsable) {
  write();
  {
    // SQLite's user version, at offset 60 of the file, is the format version of a trace.
    std::fstream file(a(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(60);
    file.write("\0\0\0\x63", 4);
  }
  open(a());
  EXPECT_EQ(banner(), "This can't be shown");
  EXPECT_TRUE(part<QLabel>("bannerExplanation")->text().contains("newer"))
      << part<QLabel>("bannerExplanation")->text().toStdString();
  open(b());
  EXPECT_GT(window_.rows().rowCount(), 0);
}

TEST_F(WindowTest, EqualRunsAreCalledIdentical) {
  write({.fused = false, .equal = true});
  open(a(), b());
  EXPECT_TRUE(banner().contains("identical")) << banner().toStdString();
  EXPECT_EQ(part<QLabel>("starts")->text(), "no start");
  key(Qt::Key_F8);
  EXPECT_EQ(pair(), 0U);
}

TEST_F(WindowTest, ATraceAloneIsBrowsed) {
  write();
  open(b());
  EXPECT_TRUE(banner().contains("ops")) << banner().toStdString();
  EXPECT_EQ(pair(), 0U);
  EXPECT_FALSE(part<QPushButton>("onlyDiffering")->isVisible());
  key(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith("ulpscope show "));
}

TEST_F(WindowTest, FollowsATraceThatIsStillWritten) {
  testing::writeSampleA(a(), {.steps = 1, .finished = false});
  open(a());
  const size_t before = document().pairs().size();
  testing::writeSampleA(file("longer.ulps"), {.steps = 3});
  bool shown = false;
  QObject::connect(&window_, &MainWindow::shown, [&] { shown = true; });
  QFile::remove(QString::fromStdString(a()));
  ASSERT_TRUE(QFile::rename(QString::fromStdString(file("longer.ulps")), QString::fromStdString(a())));
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown && document().pairs().size() > before; }, 20'000));
}

TEST_F(WindowTest, EveryActionCanBeReachedByKeysAndIsListed) {
  QStringList keys;
  for (const QAction* action : window_.actions()) {
    EXPECT_FALSE(action->text().isEmpty());
    for (const QKeySequence& key : action->shortcuts()) {
      EXPECT_FALSE(keys.contains(key.toString())) << "used twice: " << key.toString().toStdString();
      keys << key.toString();
    }
  }
  EXPECT_GT(keys.size(), 25);
  key(Qt::Key_F1);
  EXPECT_NE(window_.findChild<QDialog*>("shortcuts"), nullptr);
}

}  // namespace
}  // namespace ulpscope::gui
