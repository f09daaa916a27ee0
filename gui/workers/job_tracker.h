#pragma once

#include <QObject>
#include <QThreadPool>
#include <QTimer>
#include <atomic>
#include <functional>
#include <memory>

namespace ulpscope::gui {

/// How work on a thread talks to the tracker: the share done so far, and whether to go on.
class JobControl {
 public:
  /// Returns false once the job was cancelled or superseded. Any thread.
  bool report(double share) {
    share_.store(share, std::memory_order_relaxed);
    return keepGoing();
  }
  bool keepGoing() const { return !cancelled_.load(std::memory_order_relaxed); }

 private:
  friend class JobTracker;
  std::atomic<double> share_{0};
  std::atomic<bool> cancelled_{false};
};

/// Runs one job at a time on a worker thread; the newest wins. Starting a job cancels the one before,
/// and nothing of a cancelled job arrives any more, not even its failure. All signals and `done`
/// callbacks come on the tracker's own thread. Destruction cancels and waits.
class JobTracker : public QObject {
  Q_OBJECT

 public:
  explicit JobTracker(QObject* parent = nullptr);
  ~JobTracker() override;

  /// `work` runs on a worker and may throw: Cancelled (diff/diff.h) ends it silently, a
  /// std::exception becomes failed(what()). `done` gets what it returned.
  template <class Result>
  void start(const QString& title, std::function<Result(JobControl&)> work,
             std::function<void(Result)> done) {
    launch(title, [work = std::move(work), done = std::move(done)](JobControl& control) {
      auto result = std::make_shared<Result>(work(control));
      return std::function<void()>([done, result] { done(std::move(*result)); });
    });
  }

  void cancel();
  bool busy() const { return current_ != nullptr; }
  QString title() const { return title_; }

 signals:
  void started(const QString& title);
  void progressed(double share);
  void finished();   ///< after `done`
  void cancelled();  ///< by cancel(), not by a newer job
  void failed(const QString& message);

 private:
  using Work = std::function<std::function<void()>(JobControl&)>;
  void launch(const QString& title, Work work);
  void arrived(const std::shared_ptr<JobControl>& job, const std::function<void()>& done,
               const QString& failure, bool cancelledInside);

  QThreadPool pool_;
  QTimer poll_;
  QString title_;
  std::shared_ptr<JobControl> current_;
};

}  // namespace ulpscope::gui
