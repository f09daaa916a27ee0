#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QScrollBar>
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "bench/gui/long_trace.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/rows_view.h"
#include "gui/widgets/theme.h"

/// Drives the real window offscreen over long traces: time from open() to the first divergence on the
/// screen, time of each screenful while scrolling and while stepping from op to op, and peak memory.
///   gui_bench OPS_PER_SIDE [FOLDER]     two traces compared
///   gui_bench --single OPS [FOLDER]     one trace
/// Traces are made in FOLDER (default /tmp) and kept there for the next run.
namespace {

using ulpscope::gui::MainWindow;
using ulpscope::gui::RowsView;

double statusMiB(const char* key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key, 0) == 0) return std::stod(line.substr(line.find(':') + 1)) / 1024;
  return 0;
}

struct Spread {
  double median, p99, worst;
};

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() * 99 / 100], values.back()};
}

template <class Step>
void measure(const char* what, int count, MainWindow& window, Step step) {
  std::vector<double> times;
  QElapsedTimer timer;
  for (int i = 0; i < count; ++i) {
    timer.start();
    step(i);
    QCoreApplication::processEvents();
    window.grab();  // offscreen paints on demand only
    times.push_back(double(timer.nsecsElapsed()) / 1e6);
  }
  const Spread s = spread(times);
  std::printf("%-34s median %6.1f ms   p99 %6.1f ms   worst %6.1f ms\n", what, s.median, s.p99,
              s.worst);
}

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  ulpscope::gui::applyTheme(application, ulpscope::gui::ThemeChoice::light);
  QStringList arguments = QApplication::arguments().mid(1);
  const bool single = arguments.removeAll("--single") != 0;
  const int ops = arguments.value(0).toInt();
  if (ops <= 0) {
    std::fprintf(stderr, "usage: gui_bench [--single] OPS [FOLDER]\n");
    return 2;
  }
  const std::string folder = arguments.value(1, "/tmp").toStdString();

  const std::string stem = folder + "/ulpscope-bench-" + std::to_string(ops);
  const std::string a = stem + "-a.ulps";
  const std::string b = stem + "-b.ulps";
  if (!QFile::exists(QString::fromStdString(a))) ulpscope::bench::writeLongTrace(a, ops, false);
  if (!single && !QFile::exists(QString::fromStdString(b)))
    ulpscope::bench::writeLongTrace(b, ops, true);

  MainWindow window;
  window.QMainWindow::show();
  (void)QTest::qWaitForWindowExposed(&window);
  const double before = statusMiB("VmRSS");
  bool shown = false;
  QObject::connect(&window, &MainWindow::shown, [&] { shown = true; });
  QObject::connect(&window, &MainWindow::failed, [] {
    std::fprintf(stderr, "the traces can't be shown\n");
    std::exit(2);
  });
  QElapsedTimer timer;
  timer.start();
  double longestPause = 0;  // of the event loop while the worker runs
  window.open({QString::fromStdString(a), single ? QString() : QString::fromStdString(b), {}});
  QElapsedTimer turn;
  turn.start();
  while (!shown) {
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 5);
    if (!shown) longestPause = std::max(longestPause, double(turn.restart()));
  }
  window.grab();
  const double opened = double(timer.elapsed()) / 1000;
  const auto& document = *window.document();
  std::printf("%zu + %zu ops, %zu pairs, %d rows\n", document.result.a.ops.ops.size(),
              document.result.b.ops.ops.size(), document.pairs().size(), window.rows().rowCount());
  if (!single)
    std::printf("first divergence: %s at pair %d\n",
                document.result.first ? document.result.first->op.c_str() : "none",
                document.result.first ? document.result.first->pair : -1);
  std::printf("%-34s %.2f s (longest pause of the window meanwhile: %.0f ms)\n",
              "open to the first divergence", opened, longestPause);

  auto* rows = window.findChild<RowsView*>("rows");
  auto* bar = rows->verticalScrollBar();
  measure("scroll by pages", 200, window, [&](int i) { bar->setValue(bar->value() + (i % 2 ? 40 : 20)); });
  measure("scroll anywhere", 200, window,
          [&](int i) { bar->setValue(int(qint64(bar->maximum()) * ((i * 7919) % 200) / 200)); });
  rows->setFocus();
  measure("step to the next op", 100, window, [&](int) { QTest::keyClick(rows, Qt::Key_Down); });
  measure("fold and unfold all", 4, window, [&](int i) {
    if (i % 2) window.rows().expandAll();
    else window.rows().collapseFrom(ulpscope::gui::FoldKind::phase);
  });
  measure("filter", 4, window, [&](int i) {
    QString problem;
    window.rows().setFilter(*ulpscope::gui::parseFilter(i % 2 ? "" : "gelu", &problem));
  });
  std::printf("%-34s %.0f MiB now, %.0f MiB at most (%.0f MiB before opening)\n", "memory",
              statusMiB("VmRSS"), statusMiB("VmHWM"), before);
  return 0;
}
