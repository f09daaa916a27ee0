#pragma once

#include <QObject>
#include <QStringList>
#include <QTimer>

namespace ulpscope::gui {

/// Watches traces that are still being written and says when they grew. By polling: a trace in WAL
/// mode changes two files, and file notifications do not cross every file system.
class LiveWatch : public QObject {
  Q_OBJECT

 public:
  explicit LiveWatch(QObject* parent = nullptr);

  /// Watches these traces from their present state; none stops. `loadMilliseconds` is what it costs
  /// to take in a change: changes are announced at most so often that loading takes a quarter of
  /// the time.
  void watch(const QStringList& traces, qint64 loadMilliseconds);
  bool active() const { return timer_.isActive(); }
  void setInterval(int milliseconds) { base_ = milliseconds; }

 signals:
  void grew();

 private:
  void check();
  QString state() const;

  QStringList traces_;
  QString state_;
  QTimer timer_;
  int base_ = 500;
};

}  // namespace ulpscope::gui
