#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/dataflow.h"

namespace ulpscope::gui {

/// The chosen op in the middle, what made its inputs on the left, who reads its results on the right;
/// both sides in one picture. A double line is an edge of both sides, a thick line carries values that
/// differ, a letter stands on an edge of one side alone. Left, Right, Up and Down move the focus, Enter goes there, O walks to the origin.
class DataflowView : public QWidget {
  Q_OBJECT

 public:
  explicit DataflowView(QWidget* parent = nullptr);

  void setPair(std::shared_ptr<const Document> document, uint32_t pair);
  const Flow& flow() const { return flow_; }
  /// The pair under the focus: a neighbour or the centre.
  uint32_t focused() const;
  QSize sizeHint() const override { return {560, 200}; }

 signals:
  void pairChosen(uint32_t pair);
  void originWanted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void focusInEvent(QFocusEvent*) override { update(); }
  void focusOutEvent(QFocusEvent*) override { update(); }
  bool event(QEvent* event) override;

 private:
  enum class Column { producers, center, consumers };
  const std::vector<FlowNeighbour>& neighbours(Column column) const;
  int capacity() const;  ///< boxes that fit one below the other
  int firstShown(Column column) const;
  QRectF boxOf(Column column, int index) const;
  QRectF centerBox() const;
  const FlowNeighbour* at(const QPointF& position, Column* column, int* index) const;
  void paintBox(QPainter& p, const QRectF& box, uint32_t pair, const QString& title,
                const QString& below, bool focused) const;
  void paintEdge(QPainter& p, const QPointF& from, const QPointF& to,
                 const FlowNeighbour& neighbour) const;
  void paintColumn(QPainter& p, Column column) const;
  void moveFocus(Column column, int index);

  std::shared_ptr<const Document> document_;
  Flow flow_;
  Column column_ = Column::center;
  int index_ = 0;
  int scroll_[3] = {0, 0, 0};
};

}  // namespace ulpscope::gui
