#include "gui/workers/job_tracker.h"

#include <exception>
#include <utility>

#include "diff/diff.h"

namespace ulpscope::gui {

JobTracker::JobTracker(QObject* parent) : QObject(parent) {
  // A superseded job may need a moment to notice; the new one must not wait for it.
  pool_.setMaxThreadCount(4);
  poll_.setInterval(50);
  connect(&poll_, &QTimer::timeout, this, [this] {
    if (current_) emit progressed(current_->share_.load(std::memory_order_relaxed));
  });
}

JobTracker::~JobTracker() {
  if (current_) current_->cancelled_ = true;
  pool_.waitForDone();
}

void JobTracker::launch(const QString& title, Work work) {
  if (current_) current_->cancelled_ = true;
  current_ = std::make_shared<JobControl>();
  title_ = title;
  poll_.start();
  emit started(title);
  pool_.start([this, job = current_, work = std::move(work)] {
    std::function<void()> done;
    QString failure;
    bool cancelledInside = false;
    try {
      done = work(*job);
    } catch (const Cancelled&) {
      cancelledInside = true;
    } catch (const std::bad_alloc&) {
      failure = "not enough memory";
    } catch (const std::exception& error) {
      failure = QString::fromUtf8(error.what());
    }
    QMetaObject::invokeMethod(
        this, [=, this] { arrived(job, done, failure, cancelledInside); }, Qt::QueuedConnection);
  });
}

void JobTracker::arrived(const std::shared_ptr<JobControl>& job, const std::function<void()>& done,
                         const QString& failure, bool cancelledInside) {
  if (job != current_) return;  // superseded
  current_.reset();
  poll_.stop();
  if (cancelledInside) {
    emit cancelled();
  } else if (!done) {
    emit failed(failure);
  } else {
    done();
    emit finished();
  }
}

void JobTracker::cancel() {
  if (!current_) return;
  current_->cancelled_ = true;
  current_.reset();
  poll_.stop();
  emit cancelled();
}

}  // namespace ulpscope::gui
