#include "gui/workers/live_watch.h"

#include <QDateTime>
#include <QFileInfo>
#include <algorithm>

namespace ulpscope::gui {

LiveWatch::LiveWatch(QObject* parent) : QObject(parent) {
  connect(&timer_, &QTimer::timeout, this, &LiveWatch::check);
}

void LiveWatch::watch(const QStringList& traces, qint64 loadMilliseconds) {
  traces_ = traces;
  state_ = state();
  if (traces.isEmpty()) {
    timer_.stop();
  } else {
    timer_.start(int(std::max<qint64>(base_, 3 * loadMilliseconds)));
  }
}

QString LiveWatch::state() const {
  QString state;
  for (const QString& trace : traces_)
    for (const QString& path : {trace, trace + "-wal"}) {
      const QFileInfo file(path);
      state += QString("%1 %2;").arg(file.size()).arg(file.lastModified().toMSecsSinceEpoch());
    }
  return state;
}

void LiveWatch::check() {
  const QString now = state();
  if (now == state_) return;
  state_ = now;
  emit grew();
}

}  // namespace ulpscope::gui
