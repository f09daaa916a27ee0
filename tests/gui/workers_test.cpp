#include <QTest>
#include <atomic>
#include <fstream>
#include <thread>

#include "diff/mapping.h"
#include "gui/workers/job_tracker.h"
#include "gui/workers/live_watch.h"
#include "gui/workers/load_document.h"
#include "tests/gui/gui_fixture.h"

namespace ulpscope::gui {
namespace {

TEST(JobTracker, DeliversResultsOnItsOwnThread) {
  JobTracker jobs;
  int got = 0;
  QThread* where = nullptr;
  QThread* worked = nullptr;
  jobs.start<int>(
      "six times seven",
      [&](JobControl&) {
        worked = QThread::currentThread();
        return 42;
      },
      [&](int value) {
        got = value;
        where = QThread::currentThread();
      });
  EXPECT_TRUE(jobs.busy());
  ASSERT_TRUE(QTest::qWaitFor([&] { return got != 0; }));
  EXPECT_EQ(got, 42);
  EXPECT_EQ(where, QThread::currentThread());
  EXPECT_NE(worked, QThread::currentThread());
  EXPECT_FALSE(jobs.busy());
}

TEST(JobTracker, DropsSupersededWork) {
  JobTracker jobs;
  std::atomic<bool> stopped{false};
  std::vector<int> got;
  jobs.start<int>(
      "slow",
      [&](JobControl& control) {
        while (control.report(0.5)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        stopped = true;
        return 1;  // finishes all the same: its result must not arrive
      },
      [&](int value) { got.push_back(value); });
  jobs.start<int>("quick", [](JobControl&) { return 2; }, [&](int value) { got.push_back(value); });
  ASSERT_TRUE(QTest::qWaitFor([&] { return stopped && !got.empty(); }));
  QTest::qWait(20);
  EXPECT_EQ(got, std::vector<int>{2});
}

TEST(JobTracker, ReportsFailuresAndForgetsThoseOfCancelledJobs) {
  JobTracker jobs;
  QStringList failures;
  int cancelled = 0;
  QObject::connect(&jobs, &JobTracker::failed, [&](const QString& line) { failures << line; });
  QObject::connect(&jobs, &JobTracker::cancelled, [&] { ++cancelled; });
  const auto fail = [](JobControl&) -> int { throw std::runtime_error("no such trace"); };
  jobs.start<int>("fails", fail, [](int) { FAIL(); });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !failures.isEmpty(); }));
  EXPECT_EQ(failures, QStringList{"no such trace"});
  jobs.start<int>("fails too", fail, [](int) { FAIL(); });
  jobs.cancel();
  EXPECT_FALSE(jobs.busy());
  QTest::qWait(30);
  EXPECT_EQ(failures.size(), 1);
  EXPECT_EQ(cancelled, 1);
}

class Loading : public GuiTest {};

TEST_F(Loading, CancelsADiff) {
  write();
  JobTracker jobs;
  bool cancelled = false;
  bool arrived = false;
  QObject::connect(&jobs, &JobTracker::cancelled, [&] { cancelled = true; });
  const Source source{QString::fromStdString(a()), QString::fromStdString(b()), {}};
  jobs.start<std::shared_ptr<const Document>>(
      "diff", [&](JobControl& control) { return loadDocument(source, control); },
      [&](auto) { arrived = true; });
  jobs.cancel();
  QTest::qWait(50);
  EXPECT_TRUE(cancelled);
  EXPECT_FALSE(arrived);
}

TEST_F(Loading, QuotesTheCommandLine) {
  EXPECT_EQ((Source{"a.ulps", {}, {}}).commandLine(), "ulpscope show a.ulps");
  EXPECT_EQ((Source{"a.ulps", "my run.ulps", "m.toml"}).commandLine(),
            "ulpscope diff a.ulps 'my run.ulps' --map m.toml");
}

TEST_F(Loading, WritesMappingsThatTheDiffReads) {
  const QString path = QString::fromStdString(file("pairs.toml"));
  QString problem;
  ASSERT_TRUE(appendMapping(path, {OpId{3}}, {OpId{7}}, "one\nline", &problem));
  ASSERT_TRUE(appendMapping(path, {OpId{4}, OpId{5}}, {OpId{9}}, "a group", &problem));
  const Mapping mapping = readMapping(path.toStdString());
  ASSERT_EQ(mapping.ops.size(), 2U);
  EXPECT_EQ(mapping.ops[0].a, std::vector<int64_t>{3});
  EXPECT_EQ(mapping.ops[0].b, std::vector<int64_t>{7});
  EXPECT_EQ(mapping.ops[1].a, (std::vector<int64_t>{4, 5}));
  EXPECT_FALSE(appendMapping("/nonexistent/folder/map.toml", {OpId{1}}, {OpId{1}}, "", &problem));
  EXPECT_FALSE(problem.contains('\n'));
}

TEST_F(Loading, NoticesThatATraceGrew) {
  const std::string path = file("growing");
  std::ofstream(path) << "one";
  LiveWatch watch;
  watch.setInterval(10);
  int grew = 0;
  QObject::connect(&watch, &LiveWatch::grew, [&] { ++grew; });
  watch.watch({QString::fromStdString(path)}, 0);
  QTest::qWait(50);
  EXPECT_EQ(grew, 0);
  std::ofstream(path, std::ios::app) << "two";
  EXPECT_TRUE(QTest::qWaitFor([&] { return grew == 1; }));
  watch.watch({}, 0);
  std::ofstream(path, std::ios::app) << "three";
  QTest::qWait(50);
  EXPECT_EQ(grew, 1);
}

}  // namespace
}  // namespace ulpscope::gui
