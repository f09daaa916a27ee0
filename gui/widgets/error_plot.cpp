#include "gui/widgets/error_plot.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {

ErrorPlot::ErrorPlot(QWidget* parent) : QWidget(parent) {
  setObjectName("plot");
  setAccessibleName("Error over ops");
  setMinimumHeight(110);
}

void ErrorPlot::setDocument(std::shared_ptr<const Document> document) {
  document_ = std::move(document);
  starts_ = document_ ? startingPairs(*document_) : std::vector<uint32_t>();
  first_ = 0;
  end_ = document_ ? std::max<double>(1, double(document_->pairs().size())) : 1;
  current_ = kNoPair;
  bins_.clear();
  update();
}

void ErrorPlot::setCurrent(uint32_t pair) {
  current_ = pair;
  update();
}

const QRectF& ErrorPlot::area() const {
  if (area_.isNull()) {  // every point on the plot asks for it
    const QFontMetrics metrics(scaledFont(font(), 0.85));
    area_ = QRectF(rect()).adjusted(metrics.horizontalAdvance("1e-00") + 12, metrics.height() + 10,
                                    -10, -metrics.height() - 6);
  }
  return area_;
}

void ErrorPlot::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) area_ = {};
  QWidget::changeEvent(event);
}

qreal ErrorPlot::xOf(double pair) const {
  const QRectF box = area();
  return box.left() + (pair - first_) / (end_ - first_) * box.width();
}

qreal ErrorPlot::yOf(double error) const {
  const QRectF box = area();
  if (!(error > 0)) return box.bottom();
  const double decade = std::isinf(error) ? high_ : std::log10(error);
  const double share = std::clamp((decade - low_) / double(high_ - low_), 0.0, 1.0);
  return box.bottom() - share * box.height();
}

uint32_t ErrorPlot::pairAt(qreal x) const {
  const QRectF box = area();
  const double pair = first_ + (x - box.left()) / std::max(1.0, box.width()) * (end_ - first_);
  return uint32_t(std::clamp(pair, 0.0, double(document_->pairs().size() - 1)));
}

void ErrorPlot::measure() {
  if (!bins_.empty()) return;
  const uint32_t first = uint32_t(std::max(0.0, std::floor(first_)));
  bins_ = binErrors(*document_, first, uint32_t(std::ceil(end_)),
                    uint32_t(std::max(1.0, area().width() / 2)));
  float least = INFINITY;
  float most = 0;
  for (const ErrorBin& bin : bins_) {
    for (float value : {bin.error, bin.inherited}) {
      if (!(value > 0) || std::isinf(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  low_ = std::isinf(least) ? -9 : std::max(-18, int(std::floor(std::log10(least))) - 1);
  high_ = most > 0 ? int(std::ceil(std::log10(most))) : 0;
  if (high_ - low_ < 3) high_ = low_ + 3;
}

void ErrorPlot::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const Theme& theme = themeOf(palette());
  p.fillRect(rect(), theme.base);
  p.setFont(scaledFont(font(), 0.85));
  if (!document_ || document_->single || document_->pairs().empty()) {
    p.setPen(theme.dim);
    p.drawText(rect(), Qt::AlignCenter,
               document_ ? "One trace alone has no error to plot: open a second one to compare"
                         : QString());
    return;
  }
  measure();
  paintAxes(p);
  paintSeries(p);
  paintStarts(p);
}

void ErrorPlot::paintAxes(QPainter& p) const {
  const Theme& theme = themeOf(palette());
  const QRectF box = area();
  const int step = std::max(1, int(std::ceil((high_ - low_) * (p.fontMetrics().height() + 4) /
                                             std::max(1.0, box.height()))));
  for (int decade = low_; decade <= high_; decade += step) {
    const qreal y = yOf(std::pow(10.0, decade));
    p.setPen(theme.faint);
    p.drawLine(QPointF(box.left(), y), QPointF(box.right(), y));
    p.setPen(theme.dim);
    p.drawText(QRectF(0, y - 10, box.left() - 6, 20), Qt::AlignRight | Qt::AlignVCenter,
               QString("1e%1").arg(decade));
  }
  qreal free = box.left() - 40;  // where the next title may start
  constexpr qreal kApart = 4;
  qreal lastLine = -kApart;
  for (const uint32_t stretch : document_->tree.stretches) {
    const FoldNode& node = document_->tree.nodes[stretch];
    if (node.end <= first_ || node.first >= end_) continue;
    const qreal left = std::max(xOf(node.first), box.left());
    const qreal right = std::min(xOf(node.end), box.right());
    const bool step0 = node.kind == FoldKind::step;
    p.setPen(step0 ? theme.line : theme.faint);
    if (node.first >= first_ && left - lastLine >= kApart) {
      p.drawLine(QPointF(left, box.top()), QPointF(left, box.bottom() + (step0 ? 4 : 0)));
      lastLine = left;
    }
    if (right - std::max(left, free) < kApart) continue;
    const QString title = foldTitle(document_->tree, node);
    const int width = p.fontMetrics().horizontalAdvance(title);
    const qreal at = std::max(left + 3, free);
    if (at + width > right) continue;
    p.setPen(step0 ? theme.text : theme.dim);
    p.drawText(QRectF(at, box.bottom() + 2, width + 2, p.fontMetrics().height()), Qt::AlignLeft,
               title);
    free = at + width + 10;
  }
  p.setPen(theme.line);
  p.drawLine(box.bottomLeft(), box.bottomRight());

  // The legend stands above, outside the data.
  qreal x = box.left();
  const qreal top = 4;
  const auto entry = [&](const QColor& color, const QString& title, bool bar) {
    const qreal middle = top + p.fontMetrics().height() / 2.0;
    if (bar) p.fillRect(QRectF(x, middle - 5, 8, 10), color);
    else p.fillRect(QRectF(x - 3, middle - 1.5, 14, 3), color);
    p.setPen(theme.dim);
    p.drawText(QRectF(x + 16, top, 400, p.fontMetrics().height()), Qt::AlignLeft, title);
    x += 16 + p.fontMetrics().horizontalAdvance(title) + 18;
  };
  p.setPen(theme.text);
  const QString title = "relative error";
  p.drawText(QRectF(x - 3, top, 200, p.fontMetrics().height()), Qt::AlignLeft, title);
  x += p.fontMetrics().horizontalAdvance(title) + 18;
  entry(theme.label(Label::propagated), "inherited from inputs", false);
  entry(theme.label(Label::origin), "added by the op", true);
}

void ErrorPlot::paintSeries(QPainter& p) const {
  const Theme& theme = themeOf(palette());
  const QRectF box = area();
  p.save();
  p.setClipRect(box.adjusted(0, -1, 1, 1));
  QColor bars = theme.label(Label::origin);
  bars.setAlpha(theme.dark ? 200 : 180);
  QPainterPath line;
  bool open = false;
  for (const ErrorBin& bin : bins_) {
    const qreal left = xOf(bin.first);
    const qreal width = std::max(1.5, xOf(bin.end) - left);
    if (bin.added > 0 && bin.label != Label::identical) {
      const qreal top = yOf(bin.added);
      p.fillRect(QRectF(left, top, std::min(width, 8.0), box.bottom() - top), bars);
    }
    if (bin.inherited > 0) {
      const QPointF point(left + width / 2, yOf(bin.inherited));
      if (open) line.lineTo(point);
      else line.moveTo(point);
      open = true;
    }
  }
  p.setRenderHint(QPainter::Antialiasing);
  p.setPen(QPen(theme.label(Label::propagated), 1.8));
  p.setBrush(Qt::NoBrush);
  p.drawPath(line);
  if (current_ != kNoPair && current_ >= first_ && current_ < end_) {
    p.setRenderHint(QPainter::Antialiasing, false);
    const qreal x = xOf(current_ + 0.5);
    p.setPen(QPen(theme.accent, 1.5));
    p.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()));
  }
  p.restore();
}

void ErrorPlot::paintStarts(QPainter& p) const {
  const Theme& theme = themeOf(palette());
  const QRectF box = area();
  const auto& result = document_->result;
  const int64_t first = result.first ? result.first->pair : -1;
  const int64_t dominant = result.dominant ? result.dominant->pair : -1;
  qreal lastX = -100;
  qreal labelEnd = -1000;
  for (uint32_t start : starts_) {
    if (start < first_ || start >= end_) continue;
    const bool named = int64_t(start) == first || int64_t(start) == dominant;
    const qreal x = xOf(start + 0.5);
    if (!named && x - lastX < 5) continue;
    lastX = x;
    const Pair& pair = document_->pairs()[start];
    const qreal y = pair.error > 0 ? yOf(pair.error) : box.bottom();
    const qreal size = named ? 15 : 9;
    if (named) {
      p.setPen(QPen(theme.label(pair.label), 1.2, Qt::DashLine));
      p.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()));
      const QString text = (int64_t(start) == first ? "first: " : "dominant: ") +
                           pairTitle(*document_, start);
      const QFont bold = scaledFont(font(), 0.85, true);
      const int width = QFontMetrics(bold).horizontalAdvance(text) + 8;
      qreal at = x + 8;
      if (at + width > box.right()) at = x - 8 - width;
      const qreal line = QFontMetrics(bold).height();
      const qreal top = at < labelEnd ? box.top() + line + 2 : box.top() + 1;
      labelEnd = std::max(labelEnd, at + width);
      QColor back = theme.base;
      back.setAlpha(215);
      p.fillRect(QRectF(at, top, width, line), back);
      p.setPen(theme.text);
      p.save();
      p.setFont(bold);
      p.drawText(QRectF(at + 4, top, width, line), Qt::AlignLeft | Qt::AlignVCenter, text);
      p.restore();
    }
    drawGlyph(p, QRectF(x - size / 2, y - size / 2, size, size), pair.label, theme);
  }
}

void ErrorPlot::setView(double first, double end) {
  if (!document_) return;
  const double count = std::max<double>(1, double(document_->pairs().size()));
  const double size = std::clamp(end - first, std::min(count, 8.0), count);
  first_ = std::clamp(first, 0.0, count - size);
  end_ = first_ + size;
  bins_.clear();
  update();
}

void ErrorPlot::wheelEvent(QWheelEvent* event) {
  if (!document_ || document_->pairs().empty()) return;
  const double factor = std::pow(0.8, event->angleDelta().y() / 120.0);
  const QRectF box = area();
  const double share =
      std::clamp((event->position().x() - box.left()) / std::max(1.0, box.width()), 0.0, 1.0);
  const double anchor = first_ + share * (end_ - first_);
  const double size = (end_ - first_) * factor;
  setView(anchor - share * size, anchor + (1 - share) * size);
  event->accept();
}

void ErrorPlot::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  pressedFirst_ = first_;
  dragged_ = false;
}

void ErrorPlot::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & Qt::LeftButton) || !document_) return;
  const double moved = event->position().x() - pressed_.x();
  if (std::abs(moved) < 4 && !dragged_) return;
  dragged_ = true;
  const double size = end_ - first_;
  const double to = pressedFirst_ - moved / std::max(1.0, area().width()) * size;
  setView(to, to + size);
}

void ErrorPlot::mouseReleaseEvent(QMouseEvent* event) {
  if (dragged_ || event->button() != Qt::LeftButton || !document_ || document_->pairs().empty())
    return;
  uint32_t chosen = pairAt(event->position().x());
  for (uint32_t start : starts_)
    if (start >= first_ && start < end_ && std::abs(xOf(start + 0.5) - event->position().x()) <= 6) {
      chosen = start;
      break;
    }
  emit pairChosen(chosen);
}

void ErrorPlot::mouseDoubleClickEvent(QMouseEvent*) {
  if (document_) setView(0, double(document_->pairs().size()));
}

void ErrorPlot::resizeEvent(QResizeEvent*) {
  area_ = {};
  bins_.clear();
}

bool ErrorPlot::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && document_ && !document_->single &&
      !document_->pairs().empty()) {
    auto* help = static_cast<QHelpEvent*>(event);
    const uint32_t at = pairAt(help->pos().x());
    const Pair& pair = document_->pairs()[at];
    QToolTip::showText(
        help->globalPos(),
        QString("%1: %2\n%3\nerror %4, inherited %5")
            .arg(pairTitle(*document_, at), labelText(pair.label),
                 placeText(document_->tree, document_->tree.nodeOfPair[at]), errorText(pair.error),
                 errorText(pair.inherited)),
        this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ulpscope::gui
