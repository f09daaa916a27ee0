#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QImage>
#include <QLineEdit>
#include <QTabWidget>
#include <fstream>

#include "gui/models/details_model.h"
#include "gui/models/element_values.h"
#include "gui/models/filter.h"
#include "gui/models/format.h"
#include "gui/models/source_text.h"
#include "gui/widgets/dataflow_view.h"
#include "gui/widgets/elements_panel.h"
#include "gui/widgets/export_picture.h"
#include "gui/widgets/heatmap.h"
#include "gui/widgets/rows_view.h"
#include "tests/gui/gui_fixture.h"
#include "tests/gui/window_driver.h"

namespace ulpscope::gui {
namespace {

/// A recorded pair: one training step of a GPT-2 of one block, eager and compiled by Inductor
/// (tests/gui/recorded/README.md). The layer norm before the first attention is where it starts: the
/// kernel that computes it gets equal inputs.
class RecordedTest : public WindowDriver<GuiTest> {
 protected:
  RecordedTest() {
    unpack("gpt2-eager.ulps.z", a());
    unpack("gpt2-inductor.ulps.z", b());
  }
  static void unpack(const char* name, const std::string& to) {
    QFile packed(QString(ULPSCOPE_RECORDED_TRACES "/") + name);
    ASSERT_TRUE(packed.open(QIODevice::ReadOnly)) << name;
    const QByteArray bytes = qUncompress(packed.readAll());
    std::ofstream(to, std::ios::binary).write(bytes.data(), bytes.size());
  }
  QString current() { return part<RowsView>("rows")->currentIndex().data().toString(); }
};

TEST_F(RecordedTest, LandsOnTheKnownOrigin) {
  open(a(), b());
  EXPECT_TRUE(banner().startsWith("First divergent op: <b>aten::native_layer_norm</b>"))
      << banner().toStdString();
  EXPECT_TRUE(part<QLabel>("bannerWhere")->text().contains("transformer.h.0.ln_1 (LayerNorm)"))
      << part<QLabel>("bannerWhere")->text().toStdString();
  EXPECT_TRUE(part<QLabel>("bannerWhere")->text().contains("modeling_gpt2.py:"));
  EXPECT_TRUE(part<QLabel>("bannerMore")->text().contains("torch.compile: off | inductor"));
  EXPECT_EQ(current(), "native_layer_norm");
  const Pair& first = document().pairs()[pair()];
  EXPECT_EQ(first.label, Label::origin);
  EXPECT_GT(first.countA, 1) << "a bracket of eager ops beside one kernel";
  EXPECT_EQ(first.countB, 1);
  const QString kernel = kernelHtml(document(), pair());
  EXPECT_TRUE(kernel.contains("cpp_fused_"));
  EXPECT_TRUE(kernel.contains("aten::native_layer_norm"));
  EXPECT_TRUE(kernel.contains("extern")) << "the generated source";
}

TEST_F(RecordedTest, WalksToTheProducerOfTheOriginAndFromAfarToIt) {
  open(a(), b());
  const uint32_t origin = pair();
  key(Qt::Key_Up, Qt::AltModifier);
  const uint32_t producer = pair();
  EXPECT_LT(producer, origin);
  EXPECT_EQ(document().pairs()[producer].label, Label::identical) << "inputs of an origin agree";
  EXPECT_TRUE(part<DataflowView>("dataflow")->flow().consumers.size() > 0);
  key(Qt::Key_Left, Qt::AltModifier);
  ASSERT_EQ(pair(), origin);
  // From the matrix product of the first attention, whose input is the layer norm.
  const uint32_t later = pairNamed(document(), "aten::addmm", origin + 1);
  ASSERT_NE(later, kNoPair);
  window_.selection().choose(later);
  ASSERT_EQ(document().pairs()[later].label, Label::propagated);
  auto* flow = part<DataflowView>("dataflow");
  key(Qt::Key_F3);
  QTest::keyClick(flow, Qt::Key_O);
  EXPECT_EQ(pair(), origin);
}

TEST_F(RecordedTest, Filters) {
  open(a(), b());
  key(Qt::Key_Slash);
  QTest::keyClicks(part<QLineEdit>("search"), "layer_norm module:h.0 label:origin phase:forward");
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.rows().visiblePairs() == 1; }))
      << window_.rows().visiblePairs();
  EXPECT_EQ(current(), "native_layer_norm");
  QTest::keyClick(part<QLineEdit>("search"), Qt::Key_Escape);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return window_.rows().visiblePairs() == int64_t(document().pairs().size()); }));
}

TEST_F(RecordedTest, RePairsByHandAndSaysSoInTheCommandLine) {
  open(a(), b());
  uint32_t one = kNoPair;
  uint32_t other = kNoPair;
  for (uint32_t i = 0; i < document().pairs().size(); ++i) {
    const Pair& at = document().pairs()[i];
    if (at.countA != 1 || at.countB != 1 || at.label != Label::identical) continue;
    if (one == kNoPair) one = i;
    else if (i > one + 1 && other == kNoPair) other = i;
  }
  ASSERT_NE(other, kNoPair);
  const OpId ofA = document().result.a.ops.ops[document().result.opsA(document().pairs()[one])[0]].id;
  const OpId ofB = document().result.b.ops.ops[document().result.opsB(document().pairs()[other])[0]].id;
  window_.selection().choose(one);
  key(Qt::Key_M, Qt::ControlModifier);
  window_.selection().choose(other);
  bool shown = false;
  QObject::connect(&window_, &MainWindow::shown, [&] { shown = true; });
  key(Qt::Key_P, Qt::ControlModifier);
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown; }, 20'000)) << status().toStdString();
  const uint32_t paired = document().pairOf(SideName::a, ofA);
  EXPECT_EQ(paired, document().pairOf(SideName::b, ofB));
  EXPECT_EQ(document().pairs()[paired].method, Method::mapping);
  key(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().contains(" --map "));
}

TEST_F(RecordedTest, ExportsPicturesAndTheReport) {
  open(a(), b());
  QString problem;
  const QString png = QString::fromStdString(file("answer.png"));
  ASSERT_TRUE(exportPicture(window_, png, &problem, 1)) << problem.toStdString();
  EXPECT_EQ(QImage(png).size(), window_.size());
  const QString svg = QString::fromStdString(file("rows.svg"));
  ASSERT_TRUE(exportPicture(*part<QWidget>("rows"), svg, &problem)) << problem.toStdString();
  EXPECT_GT(QFile(svg).size(), 1000);
  // The report on a worker, as the menu makes it.
  JobTracker jobs;
  bool done = false;
  const QString page = QString::fromStdString(file("report.html"));
  const Source source = window_.source();
  jobs.start<int>(
      "report",
      [&](JobControl& control) {
        writeReport(source, page, control);
        return 0;
      },
      [&](int) { done = true; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return done; }, 20'000));
  QFile written(page);
  ASSERT_TRUE(written.open(QIODevice::ReadOnly));
  EXPECT_TRUE(written.readAll().contains("native_layer_norm"));
}

TEST_F(RecordedTest, ShowsCapturedElementsOfTheOrigin) {
  open(a(), b());
  const auto requests = capturedOperands(document(), pair());
  ASSERT_FALSE(requests.empty());
  EXPECT_TRUE(requests[0].a && requests[0].b) << "the layer norm was captured on both sides";
  EXPECT_TRUE(requests[0].title.startsWith("native_layer_norm: out ")) << requests[0].title.toStdString();
  const ElementPicture picture = loadElements(requests[0]);
  EXPECT_TRUE(picture.both);
  EXPECT_GT(picture.differing, 0);
  EXPECT_GT(picture.largestUlps, 0);
  EXPECT_GE(picture.worst, 0);
  int64_t counted = 0;
  for (const ElementBin& bin : picture.histogram) counted += bin.count;
  EXPECT_EQ(counted, picture.elements());
  EXPECT_EQ(picture.elements() - picture.histogram[0].count, picture.differing);

  auto* panel = part<ElementsPanel>("elements");
  bool loaded = false;
  QObject::connect(panel, &ElementsPanel::loaded, [&] { loaded = true; });
  window_.showPage("elements");
  ASSERT_TRUE(QTest::qWaitFor([&] { return loaded; }));
  EXPECT_TRUE(part<QLabel>("elementSummary")->text().contains(" elements differ; most at "));
  auto* map = part<Heatmap>("heatmap");
  const QRectF whole = map->view();
  map->setFocus();
  QTest::keyClick(map, Qt::Key_Plus);
  EXPECT_LT(map->view().width(), whole.width());
  QTest::keyClick(map, Qt::Key_0);
  EXPECT_EQ(map->view(), whole);
  EXPECT_GE(map->elementAt(QPointF(10, 10)), 0);
  // An op that was not captured says how to get there.
  uint32_t other = 0;
  while (!capturedOperands(document(), other).empty()) ++other;
  ASSERT_LT(other, document().pairs().size());
  window_.selection().choose(other);
  EXPECT_TRUE(part<QLabel>("elementSummary")->text().contains("--capture="))
      << part<QLabel>("elementSummary")->text().toStdString();
}

TEST_F(RecordedTest, TheModelsOfARealPairAreSound) {
  open(a(), b());
  RowsModel rows;
  QAbstractItemModelTester tester(&rows, QAbstractItemModelTester::FailureReportingMode::Fatal);
  rows.setDocument(window_.document());
  for (int i = 0; i < rows.rowCount(); ++i)
    if (!rows.row(i).heading) {
      const auto text = rows.index(i, 0).data().toString() + rows.index(i, 2).data().toString();
      EXPECT_TRUE(!text.isEmpty() || rows.row(i).lines > 1) << i;
    }
  DetailsModel details;
  QAbstractItemModelTester detailsTester(&details, QAbstractItemModelTester::FailureReportingMode::Fatal);
  for (uint32_t i = 0; i < document().pairs().size(); i += 7) details.setPair(window_.document(), i);
}

}  // namespace
}  // namespace ulpscope::gui
