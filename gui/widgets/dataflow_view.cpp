#include "gui/widgets/dataflow_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>

#include "gui/models/format.h"
#include "gui/widgets/name_fitter.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {
constexpr int kGap = 6;
constexpr int kTop = 22;  // room for the column titles
}  // namespace

DataflowView::DataflowView(QWidget* parent) : QWidget(parent) {
  setObjectName("dataflow");
  setAccessibleName("Dataflow around the chosen op");
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(300, 110);
}

void DataflowView::setPair(std::shared_ptr<const Document> document, uint32_t pair) {
  document_ = std::move(document);
  flow_ = document_ ? flowAround(*document_, pair) : Flow{};
  column_ = Column::center;
  index_ = 0;
  std::fill(std::begin(scroll_), std::end(scroll_), 0);
  update();
}

const std::vector<FlowNeighbour>& DataflowView::neighbours(Column column) const {
  return column == Column::producers ? flow_.producers : flow_.consumers;
}

uint32_t DataflowView::focused() const {
  if (column_ == Column::center) return flow_.center;
  return neighbours(column_)[size_t(index_)].pair;
}

int DataflowView::capacity() const {
  const int box = fontMetrics().height() * 2 + 8;
  return std::max(1, (height() - kTop - 4) / (box + kGap));
}

int DataflowView::firstShown(Column column) const {
  const int count = int(neighbours(column).size());
  return std::clamp(scroll_[int(column)], 0, std::max(0, count - capacity()));
}

QRectF DataflowView::boxOf(Column column, int index) const {
  const int count = std::min(capacity(), int(neighbours(column).size()));
  const qreal height = fontMetrics().height() * 2 + 8;
  const qreal width = this->width() * 0.30;
  const qreal block = count * (height + kGap) - kGap;
  const qreal top = kTop + std::max(0.0, (this->height() - kTop - 4 - block) / 2);
  const qreal x = column == Column::producers ? 6 : this->width() - width - 6;
  return {x, top + (index - firstShown(column)) * (height + kGap), width, height};
}

QRectF DataflowView::centerBox() const {
  const qreal height = fontMetrics().height() * 3 + 12;
  const qreal width = this->width() * 0.28;
  return {(this->width() - width) / 2, kTop + (this->height() - kTop - 4 - height) / 2, width, height};
}

void DataflowView::paintBox(QPainter& p, const QRectF& box, uint32_t pair, const QString& title,
                            const QString& below, bool focused) const {
  const Theme& theme = themeOf(palette());
  p.setRenderHint(QPainter::Antialiasing);
  const bool known = pair != kNoPair;
  const Label label = known ? document_->pairs()[pair].label : Label::identical;
  p.setPen(focused && hasFocus() ? QPen(theme.accent, 2.5) : QPen(theme.line, 1));
  p.setBrush(known ? theme.base : theme.heading);
  p.drawRoundedRect(box, 4, 4);
  if (known) {
    p.setBrush(theme.tint(label));
    p.drawRoundedRect(box, 4, 4);
  }
  QRectF rest = box.adjusted(8, 4, -8, -4);
  if (known && !document_->single) {
    const qreal size = 13;
    drawGlyph(p, QRectF(rest.left(), rest.top() + 1, size, size), label, theme);
    rest.setLeft(rest.left() + size + 6);
  }
  NameFitter titles(scaledFont(font(), 1.0, pair == flow_.center));
  p.setPen(theme.text);
  int height = QFontMetrics(titles.font()).height();
  titles.draw(p, QRectF(rest.left(), rest.top(), rest.width(), height).toRect(), title);
  rest.setTop(rest.top() + height);
  NameFitter lines(scaledFont(font(), 0.85));
  p.setPen(theme.dim);
  height = QFontMetrics(lines.font()).height();
  for (const QString& line : below.split('\n')) {
    if (rest.top() + height > box.bottom()) break;
    lines.draw(p, QRectF(rest.left(), rest.top(), rest.width(), height).toRect(), line);
    rest.setTop(rest.top() + height);
  }
}

void DataflowView::paintEdge(QPainter& p, const QPointF& from, const QPointF& to,
                             const FlowNeighbour& neighbour) const {
  const Theme& theme = themeOf(palette());
  p.setRenderHint(QPainter::Antialiasing);
  p.setBrush(Qt::NoBrush);
  const bool unequal = neighbour.equality == Equality::unequal;
  const QColor color = unequal ? theme.label(Label::propagated)
                       : neighbour.equality == Equality::equal ? theme.label(Label::identical)
                                                               : theme.dim;
  const qreal bend = (to.x() - from.x()) / 2;
  const auto strand = [&](qreal offset, Qt::PenStyle style) {
    QPainterPath path(from + QPointF(0, offset));
    path.cubicTo(from + QPointF(bend, offset), to + QPointF(-bend, offset), to + QPointF(0, offset));
    p.setPen(QPen(color, unequal ? 2.6 : 1.2, style));
    p.drawPath(path);
  };
  const Qt::PenStyle style =
      neighbour.equality == Equality::unknown && !document_->single ? Qt::DotLine : Qt::SolidLine;
  if (neighbour.onA && neighbour.onB) {
    strand(-2.2, style);
    strand(2.2, style);
  } else {
    strand(0, style);
    if (document_->single) return;
    const QPointF middle = (from + to) / 2;
    p.setFont(scaledFont(font(), 0.8, true));
    p.setPen(theme.text);
    const QRectF disc(middle.x() - 7, middle.y() - 7, 14, 14);
    p.setPen(QPen(color, 1));
    p.setBrush(theme.base);
    p.drawEllipse(disc);
    p.setPen(theme.text);
    p.drawText(disc, Qt::AlignCenter, neighbour.onA ? "A" : "B");
  }
}

void DataflowView::paintColumn(QPainter& p, Column column) const {
  const Theme& theme = themeOf(palette());
  const auto& list = neighbours(column);
  const bool left = column == Column::producers;
  const QRectF center = centerBox();
  const int first = firstShown(column);
  const int shown = std::min(capacity(), int(list.size()) - first);
  for (int i = first; i < first + shown; ++i) {
    const FlowNeighbour& neighbour = list[size_t(i)];
    const QRectF box = boxOf(column, i);
    const QPointF outer(left ? box.right() : box.left(), box.center().y());
    const qreal spread = (i - first + 1.0) / (shown + 1) * center.height();
    const QPointF inner(left ? center.left() : center.right(), center.top() + spread);
    paintEdge(p, left ? outer : inner, left ? inner : outer, neighbour);
    paintBox(p, box, neighbour.pair, neighbour.title, neighbour.values,
             column_ == column && index_ == i);
  }
  p.setFont(scaledFont(font(), 0.85));
  p.setPen(theme.dim);
  QString title = left ? "inputs come from" : "results are read by";
  const size_t hidden = list.size() - size_t(shown) + (left ? 0 : flow_.moreConsumers);
  if (hidden != 0) title += QString(" (+%1 more)").arg(hidden);
  if (list.empty()) title = left ? "no inputs" : "nobody reads it";
  const qreal width = this->width() * 0.33;
  p.drawText(QRectF(left ? 6 : this->width() - width - 6, 3, width, kTop - 4),
             (left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter, title);
}

void DataflowView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.fillRect(rect(), themeOf(palette()).base);
  if (!document_ || flow_.center == kNoPair) return;
  paintColumn(p, Column::producers);
  paintColumn(p, Column::consumers);
  const Pair& pair = document_->pairs()[flow_.center];
  QString below;
  if (!document_->single) {
    const auto titles = [&](SideName which) {
      const auto members = document_->members(pair, which);
      const Side& side = document_->side(which);
      if (members.empty()) return QString("no partner");
      const QString title = opShortTitle(side, side.ops.ops[members[0]]);
      return members.size() == 1 ? title : QString("%1 + %2").arg(title).arg(members.size() - 1);
    };
    if (titles(SideName::a) != titles(SideName::b)) below = "B: " + titles(SideName::b) + "\n";
    below += labelText(pair.label);
    if (pair.label != Label::identical && pair.error > 0) below += ", " + errorText(pair.error);
  }
  paintBox(p, centerBox(), flow_.center, pairTitle(*document_, flow_.center), below,
           column_ == Column::center);
}

void DataflowView::moveFocus(Column column, int index) {
  if (column != Column::center) {
    const int count = int(neighbours(column).size());
    if (count == 0) return;
    index = std::clamp(index, 0, count - 1);
    int& scroll = scroll_[int(column)];
    scroll = std::clamp(scroll, std::max(0, index - capacity() + 1), index);
  }
  column_ = column;
  index_ = index;
  update();
}

void DataflowView::keyPressEvent(QKeyEvent* event) {
  const auto nearest = [&](Column column) {  // the first that differs, else the first
    const auto& list = neighbours(column);
    const auto at = std::find_if(list.begin(), list.end(), [](const auto& neighbour) {
      return neighbour.equality == Equality::unequal;
    });
    return at == list.end() ? 0 : int(at - list.begin());
  };
  switch (event->key()) {
    case Qt::Key_Left:
      if (column_ == Column::consumers) moveFocus(Column::center, 0);
      else if (column_ == Column::center) moveFocus(Column::producers, nearest(Column::producers));
      break;
    case Qt::Key_Right:
      if (column_ == Column::producers) moveFocus(Column::center, 0);
      else if (column_ == Column::center) moveFocus(Column::consumers, nearest(Column::consumers));
      break;
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (column_ != Column::center)
        moveFocus(column_, index_ + (event->key() == Qt::Key_Down ? 1 : -1));
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (focused() != kNoPair && column_ != Column::center) emit pairChosen(focused());
      break;
    case Qt::Key_O: emit originWanted(); break;
    default: QWidget::keyPressEvent(event);
  }
}

const FlowNeighbour* DataflowView::at(const QPointF& position, Column* column, int* index) const {
  for (Column side : {Column::producers, Column::consumers}) {
    const auto& list = neighbours(side);
    const int first = firstShown(side);
    for (int i = first; i < std::min(first + capacity(), int(list.size())); ++i)
      if (boxOf(side, i).contains(position)) {
        *column = side;
        *index = i;
        return &list[size_t(i)];
      }
  }
  return nullptr;
}

void DataflowView::mousePressEvent(QMouseEvent* event) {
  Column column{};
  int index = 0;
  const FlowNeighbour* neighbour = at(event->position(), &column, &index);
  if (!neighbour) return moveFocus(Column::center, 0);
  moveFocus(column, index);
  if (neighbour->pair != kNoPair) emit pairChosen(neighbour->pair);
}

void DataflowView::wheelEvent(QWheelEvent* event) {
  const Column column =
      event->position().x() < width() / 2.0 ? Column::producers : Column::consumers;
  const int count = int(neighbours(column).size());
  int& scroll = scroll_[int(column)];
  scroll = std::clamp(scroll + (event->angleDelta().y() < 0 ? 1 : -1), 0,
                      std::max(0, count - capacity()));
  update();
}

bool DataflowView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    Column column{};
    int index = 0;
    const FlowNeighbour* neighbour = at(help->pos(), &column, &index);
    if (!neighbour) {
      QToolTip::hideText();
      return true;
    }
    const char* state = neighbour->equality == Equality::unequal ? "values differ"
                        : neighbour->equality == Equality::equal ? "values are equal"
                                                                 : "values are not comparable";
    QString text = neighbour->title + "\n" + neighbour->values;
    if (!document_->single) text += QString("\n") + state;
    if (neighbour->pair != kNoPair)
      text += "\n" + placeText(document_->tree, document_->tree.nodeOfPair[neighbour->pair]);
    QToolTip::showText(help->globalPos(), text, this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ulpscope::gui
