#include <time.h>

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
#include "diff/diff.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/rows_view.h"
#include "gui/widgets/theme.h"

/// Drives the real window offscreen over long traces: time from open() to the first divergence on the
/// screen, time of each repaint while scrolling and while stepping from op to op, and peak memory.
///   gui_bench OPS_PER_SIDE [FOLDER]            two traces compared
///   gui_bench --single OPS [FOLDER]            one trace
///   gui_bench --engine OPS_PER_SIDE [FOLDER]   the diff alone, without a window: the engine's share
/// Traces are made in FOLDER (default /tmp) and kept there for the next run. "cpu" is the processor
/// time of the whole process while opening, and of the window's thread afterwards: on a busy machine it
/// is the figure to compare.
namespace {

using ulpscope::gui::MainWindow;
using ulpscope::gui::RowsView;

double statusMiB(const char* key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key, 0) == 0) return std::stod(line.substr(line.find(':') + 1)) / 1024;
  return 0;
}

double cpuSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

struct Spread {
  double median, p99, worst;
};

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() * 99 / 100], values.back()};
}

/// Counts repaints of one widget: a step is over when what it asked for is on the screen.
class PaintCounter : public QObject {
 public:
  bool eventFilter(QObject*, QEvent* event) override {
    painted_ += event->type() == QEvent::Paint;
    return false;
  }
  int painted() const { return painted_; }

 private:
  int painted_ = 0;
};

template <class Step>
void measure(const char* what, int count, QWidget& viewport, Step step) {
  std::vector<double> wall, cpu;
  PaintCounter counter;
  viewport.installEventFilter(&counter);
  QElapsedTimer timer;
  for (int i = 0; i < count; ++i) {
    const int before = counter.painted();
    const double start = cpuSeconds(CLOCK_THREAD_CPUTIME_ID);
    timer.start();
    step(i);
    for (int turn = 0; turn < 100 && counter.painted() == before; ++turn)
      QCoreApplication::processEvents();
    wall.push_back(double(timer.nsecsElapsed()) / 1e6);
    cpu.push_back((cpuSeconds(CLOCK_THREAD_CPUTIME_ID) - start) * 1e3);
  }
  viewport.removeEventFilter(&counter);
  const Spread w = spread(wall);
  const Spread c = spread(cpu);
  std::printf("%-28s median %6.1f ms  p99 %6.1f ms  worst %6.1f ms   cpu %6.1f %6.1f %6.1f ms   "
              "%d repaints\n",
              what, w.median, w.p99, w.worst, c.median, c.p99, c.worst, counter.painted());
}

int engineAlone(const std::string& a, const std::string& b) {
  QElapsedTimer timer;
  timer.start();
  const double cpu = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  const auto result = ulpscope::diff(a, b, {});
  std::printf("%zu pairs\n%-28s %.2f s, cpu %.2f s\n%-28s %.0f MiB now, %.0f MiB at most\n",
              result.pairs.size(), "diff alone", double(timer.elapsed()) / 1000,
              cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, "memory", statusMiB("VmRSS"),
              statusMiB("VmHWM"));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  ulpscope::gui::applyTheme(application, ulpscope::gui::ThemeChoice::light);
  QStringList arguments = QApplication::arguments().mid(1);
  const bool single = arguments.removeAll("--single") != 0;
  const bool engine = arguments.removeAll("--engine") != 0;
  const int ops = arguments.value(0).toInt();
  if (ops <= 0) {
    std::fprintf(stderr, "usage: gui_bench [--single|--engine] OPS [FOLDER]\n");
    return 2;
  }
  const std::string folder = arguments.value(1, "/tmp").toStdString();

  const std::string stem = folder + "/ulpscope-bench-" + std::to_string(ops);
  const std::string a = stem + "-a.ulps";
  const std::string b = stem + "-b.ulps";
  const bool made = QFile::exists(QString::fromStdString(a)) &&
                    (single || QFile::exists(QString::fromStdString(b)));
  if (!made) {
    ulpscope::bench::writeLongTrace(a, ops, false);
    if (!single) ulpscope::bench::writeLongTrace(b, ops, true);
    std::printf("traces made; run again to measure in a fresh process\n");
    return 0;
  }
  if (engine) return engineAlone(a, b);

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
  auto* rows = window.findChild<RowsView*>("rows");
  PaintCounter counter;
  rows->viewport()->installEventFilter(&counter);
  QElapsedTimer timer;
  timer.start();
  const double cpu = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  double longestPause = 0;  // of the event loop, from open() to the repaint
  window.open({QString::fromStdString(a), single ? QString() : QString::fromStdString(b), {}});
  int painted = 0;
  QElapsedTimer turn;
  while (!shown || counter.painted() == painted) {
    if (!shown) painted = counter.painted();
    turn.start();
    QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    longestPause = std::max(longestPause, double(turn.nsecsElapsed()) / 1e6);
    if (!shown) QThread::msleep(1);
  }
  const double opened = double(timer.elapsed()) / 1000;
  const double openedCpu = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  const auto& document = *window.document();
  std::printf("%zu + %zu ops, %zu pairs, %d rows\n", document.result.a.ops.ops.size(),
              document.result.b.ops.ops.size(), document.pairs().size(), window.rows().rowCount());
  if (!single)
    std::printf("first divergence: %s at pair %d\n",
                document.result.first ? document.result.first->op.c_str() : "none",
                document.result.first ? document.result.first->pair : -1);
  std::printf("%-28s %.2f s, cpu %.2f s (longest pause of the window: %.0f ms)\n",
              "open to what it opens on", opened, openedCpu, longestPause);
  std::printf("%-28s %.0f MiB now, %.0f MiB at most (%.0f MiB before opening)\n", "memory",
              statusMiB("VmRSS"), statusMiB("VmHWM"), before);

  QWidget& viewport = *rows->viewport();
  auto* bar = rows->verticalScrollBar();
  bar->setValue(0);
  measure("scroll by lines", 200, viewport, [&](int) { bar->setValue(bar->value() + 3); });
  measure("scroll by pages", 200, viewport, [&](int) { bar->setValue(bar->value() + 20); });
  measure("scroll anywhere", 200, viewport,
          [&](int i) { bar->setValue(int(qint64(bar->maximum()) * ((i * 7919) % 200) / 200)); });
  rows->setFocus();
  measure("step to the next op", 100, viewport, [&](int) { QTest::keyClick(rows, Qt::Key_Down); });
  measure("fold and unfold all", 6, viewport, [&](int i) {
    if (i % 2) window.rows().expandAll();
    else window.rows().collapseFrom(ulpscope::gui::FoldKind::phase);
  });
  measure("filter", 6, viewport, [&](int i) {
    QString problem;
    window.rows().setFilter(*ulpscope::gui::parseFilter(i % 2 ? "" : "gelu", &problem));
  });
  std::printf("%-28s %.0f MiB now, %.0f MiB at most\n", "memory at the end", statusMiB("VmRSS"),
              statusMiB("VmHWM"));
  return 0;
}
