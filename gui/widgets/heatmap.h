#pragma once

#include <QImage>
#include <QWidget>
#include <memory>

#include "gui/models/element_values.h"

namespace ulpscope::gui {

/// The elements of an operand as a picture: a row for each index of all but the last dimension. Colour
/// is the size of the difference on a log scale; a pixel that stands for many elements shows the
/// largest. For one side alone it is the value, from negative to positive. Wheel or + and - zoom, drag
/// or the arrow keys move, double click or 0 shows all.
class Heatmap : public QWidget {
  Q_OBJECT

 public:
  explicit Heatmap(QWidget* parent = nullptr);

  void setElements(std::shared_ptr<const ElementPicture> elements);
  QSize sizeHint() const override { return {360, 180}; }
  /// Element under a point of the widget; -1 outside.
  int64_t elementAt(const QPointF& position) const;
  /// Part of the picture in view, in rows and columns.
  QRectF view() const { return view_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent*) override { image_ = {}; }
  void changeEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent*) override { showAll(); }
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF area() const;
  void showAll();
  void setView(const QRectF& view);
  void zoom(double factor, const QPointF& at);
  void draw();
  QRgb colorOf(float value) const;
  void paintScale(QPainter& p) const;

  std::shared_ptr<const ElementPicture> elements_;
  QRectF view_;
  QImage image_;
  double low_ = 0;   ///< of the colours: log10 of the least and the largest difference, or
  double high_ = 1;  ///< the largest magnitude of a value in high_
  QPointF pressed_;
  QRectF pressedView_;
};

}  // namespace ulpscope::gui
