#include "gui/widgets/legend.h"

#include <QHelpEvent>
#include <QToolTip>

#include "gui/models/format.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {
constexpr int kGlyph = 13;
constexpr int kSpace = 16;
}  // namespace

Legend::Legend(QWidget* parent) : QWidget(parent) {
  setObjectName("legend");
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void Legend::setCounts(const Counts& counts) {
  labels_.clear();
  const std::pair<Label, int64_t> all[] = {
      {Label::origin, counts.origin},         {Label::source, counts.source},
      {Label::structural, counts.structural}, {Label::propagated, counts.propagated},
      {Label::healed, counts.healed},         {Label::within, counts.within},
      {Label::opaque, counts.opaque},         {Label::identical, counts.identical}};
  for (const auto& [label, count] : all)
    if (count != 0) labels_.push_back(label);
  updateGeometry();
  update();
}

void Legend::clear() {
  labels_.clear();
  updateGeometry();
}

int Legend::widthOf(Label label) const {
  return kGlyph + 5 + fontMetrics().horizontalAdvance(labelText(label)) + kSpace;
}

QSize Legend::sizeHint() const {
  int width = 0;
  for (Label label : labels_) width += widthOf(label);
  return {width, fontMetrics().height() + 4};
}

void Legend::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const Theme& theme = themeOf(palette());
  qreal x = 0;
  for (Label label : labels_) {
    drawGlyph(p, QRectF(x, (height() - kGlyph) / 2.0, kGlyph, kGlyph), label, theme);
    p.setPen(theme.dim);
    p.drawText(QRectF(x + kGlyph + 5, 0, 400, height()), Qt::AlignLeft | Qt::AlignVCenter,
               labelText(label));
    x += widthOf(label);
  }
}

bool Legend::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    int x = 0;
    for (Label label : labels_) {
      x += widthOf(label);
      if (help->pos().x() < x) {
        QToolTip::showText(help->globalPos(), labelMeaning(label), this);
        return true;
      }
    }
  }
  return QWidget::event(event);
}

}  // namespace ulpscope::gui
