#include "gui/widgets/minimap.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {
constexpr int kMargin = 4;
constexpr int kMarks = 14;   // width of the lane of start marks
constexpr int kStripe = 10;  // width of the lane of colours
}  // namespace

Minimap::Minimap(QWidget* parent) : QWidget(parent) {
  setObjectName("minimap");
  setAccessibleName("Map of the whole run");
  setFixedWidth(sizeHint().width());
  setMouseTracking(false);
}

void Minimap::setDocument(std::shared_ptr<const Document> document) {
  document_ = std::move(document);
  starts_ = document_ ? startingPairs(*document_) : std::vector<uint32_t>();
  bins_.clear();
  first_ = last_ = 0;
  current_ = kNoPair;
  update();
}

void Minimap::setRange(uint32_t first, uint32_t last) {
  if (first == kNoPair || last == kNoPair) return;
  first_ = first;
  last_ = std::max(first, last);
  update();
}

void Minimap::setCurrent(uint32_t pair) {
  current_ = pair;
  update();
}

void Minimap::resizeEvent(QResizeEvent*) { bins_.clear(); }

qreal Minimap::yOf(double pair) const {
  const double count = std::max<double>(1, double(document_->pairs().size()));
  return kMargin + pair / count * (height() - 2 * kMargin);
}

uint32_t Minimap::pairAt(qreal y) const {
  const double share = std::clamp((y - kMargin) / std::max(1, height() - 2 * kMargin), 0.0, 1.0);
  return uint32_t(std::min(share * double(document_->pairs().size()),
                           double(document_->pairs().size() - 1)));
}

void Minimap::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const Theme& theme = themeOf(palette());
  p.fillRect(rect(), theme.base);
  if (!document_ || document_->pairs().empty()) return;
  const uint32_t count = uint32_t(document_->pairs().size());
  if (bins_.empty()) bins_ = binErrors(*document_, 0, count, uint32_t(height() - 2 * kMargin));
  const int stripe = kMargin + kMarks;
  const int bars = stripe + kStripe + 3;
  const int barWidth = width() - bars - kMargin;

  for (const ErrorBin& bin : bins_) {
    const qreal top = yOf(bin.first);
    const qreal size = std::max(1.0, yOf(bin.end) - top);
    QColor color = theme.label(bin.label);
    if (bin.label == Label::identical) color = theme.faint;
    p.fillRect(QRectF(stripe, top, kStripe, size), color);
    if (bin.error > 0 && bin.label != Label::identical) {
      const double share =
          std::isinf(bin.error)
              ? 1.0
              : std::clamp((std::log10(double(bin.error)) + 9) / 10, 0.04, 1.0);
      color.setAlpha(theme.dark ? 170 : 150);
      p.fillRect(QRectF(bars, top, share * barWidth, size), color);
    }
  }
  // Steps as lines across, so that "it starts in step 2" can be seen.
  p.setFont(scaledFont(font(), 0.8));
  constexpr qreal kApart = 4;
  const int line = p.fontMetrics().height();
  qreal lastLine = -kApart;
  qreal lastTitle = -line;
  for (const uint32_t stretch : document_->tree.stretches) {
    const FoldNode& node = document_->tree.nodes[stretch];
    if (node.kind != FoldKind::step) continue;
    const qreal y = yOf(node.first);
    if (y - lastLine < kApart) continue;
    lastLine = y;
    p.setPen(theme.line);
    p.drawLine(QPointF(stripe, y), QPointF(width(), y));
    if (y - lastTitle < 2 * line || y + line > height()) continue;
    lastTitle = y;
    const QString title = foldTitle(document_->tree, node);
    const int wide = p.fontMetrics().horizontalAdvance(title) + 4;
    QColor back = theme.base;
    back.setAlpha(200);
    const QRectF box(width() - wide - 1, y + 1, wide, line);
    p.fillRect(box, back);
    p.setPen(theme.text);
    p.drawText(box, Qt::AlignCenter, title);
  }
  const uint32_t opening = document_->result.first ? document_->opening() : kNoPair;
  qreal lastMark = -100;
  for (uint32_t start : starts_) {
    const qreal y = yOf(start + 0.5);
    if (y - lastMark < 5 && start != opening) continue;
    lastMark = y;
    const qreal size = start == opening ? 13 : 8;
    drawGlyph(p, QRectF(kMargin + (kMarks - size) / 2 - 2, y - size / 2, size, size),
              document_->pairs()[start].label, theme);
  }
  QColor wash = theme.text;
  wash.setAlpha(theme.dark ? 30 : 18);
  const qreal top = yOf(first_);
  const QRectF view(stripe - 2, top, width() - stripe, std::max(4.0, yOf(last_ + 1) - top));
  p.fillRect(view, wash);
  p.setPen(theme.dim);
  p.drawRect(view.adjusted(0, 0, -1, -1));
  if (current_ != kNoPair) {
    const qreal y = yOf(current_ + 0.5);
    p.setPen(QPen(theme.accent, 2));
    p.drawLine(QPointF(stripe - 2, y), QPointF(width() - 1, y));
  }
}

void Minimap::choose(qreal y) {
  if (!document_ || document_->pairs().empty()) return;
  uint32_t pair = pairAt(y);
  // A press near a start mark means the mark: it is one op among thousands under the same pixel.
  for (uint32_t start : starts_)
    if (std::abs(yOf(start + 0.5) - y) <= 4) {
      pair = start;
      break;
    }
  emit pairChosen(pair);
}

void Minimap::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) choose(event->position().y());
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) choose(event->position().y());
}

bool Minimap::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && document_ && !document_->pairs().empty()) {
    auto* help = static_cast<QHelpEvent*>(event);
    const uint32_t pair = pairAt(help->pos().y());
    QToolTip::showText(help->globalPos(),
                       pairTitle(*document_, pair) + "\n" +
                           placeText(document_->tree, document_->tree.nodeOfPair[pair]),
                       this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ulpscope::gui
