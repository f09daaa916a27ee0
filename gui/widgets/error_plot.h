#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "gui/models/error_series.h"

namespace ulpscope::gui {

/// Relative error over the run, on a log scale: what ops inherit (line) and what they add (bars),
/// with the starts marked and the first and the dominant one named. Wheel zooms at the pointer, drag
/// moves, click chooses, double click shows all.
class ErrorPlot : public QWidget {
  Q_OBJECT

 public:
  explicit ErrorPlot(QWidget* parent = nullptr);

  void setDocument(std::shared_ptr<const Document> document);
  void setCurrent(uint32_t pair);
  QSize sizeHint() const override { return {600, 200}; }

 signals:
  void pairChosen(uint32_t pair);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  const QRectF& area() const;
  qreal xOf(double pair) const;
  qreal yOf(double error) const;
  uint32_t pairAt(qreal x) const;
  void setView(double first, double end);
  void measure();
  void paintAxes(QPainter& p) const;
  void paintSeries(QPainter& p) const;
  void paintStarts(QPainter& p) const;

  std::shared_ptr<const Document> document_;
  mutable QRectF area_;  ///< null: to be measured
  std::vector<ErrorBin> bins_;
  std::vector<uint32_t> starts_;
  uint32_t current_ = kNoPair;
  double first_ = 0;  ///< pairs in view
  double end_ = 1;
  int low_ = -9;  ///< decades in view
  int high_ = 1;
  QPointF pressed_;
  double pressedFirst_ = 0;
  bool dragged_ = false;
};

}  // namespace ulpscope::gui
