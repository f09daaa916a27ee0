#include "gui/widgets/histogram.h"

#include <QPainter>
#include <cmath>

#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {

QString countText(int64_t count) {
  if (count < 100'000) return QString("%L1").arg(count);
  return count < 10'000'000 ? QString("%1k").arg(count / 1000) : QString("%1M").arg(count / 1'000'000);
}

QString binText(const ElementBin& bin) {
  if (bin.upper == 0) return "equal";
  if (std::isinf(bin.upper)) return "nan, inf";
  const QString number = bin.upper < 1e6 ? QString::number(bin.upper, 'f', 0)
                                         : QString("2^%1").arg(std::ilogb(bin.upper));
  return bin.upper <= 2 ? number : QString(QChar(0x2264)) + number;
}

}  // namespace

Histogram::Histogram(QWidget* parent) : QWidget(parent) {
  setObjectName("histogram");
  setAccessibleName("How many elements differ by how much");
  setMinimumHeight(90);
}

void Histogram::setElements(std::shared_ptr<const ElementPicture> elements) {
  elements_ = std::move(elements);
  setVisible(elements_ && !elements_->histogram.empty());
  update();
}

void Histogram::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const Theme& theme = themeOf(palette());
  p.fillRect(rect(), theme.base);
  if (!elements_ || elements_->histogram.empty()) return;
  const auto& bins = elements_->histogram;
  p.setFont(scaledFont(font(), 0.8));
  const int line = p.fontMetrics().height();
  const QRectF box = QRectF(rect()).adjusted(2, line + 2, -2, -2 * line - 2);
  double most = 1;
  for (const ElementBin& bin : bins) most = std::max(most, double(bin.count));
  const double wide = box.width() / double(bins.size());
  const int widest = p.fontMetrics().horizontalAdvance(QString(QChar(0x2264)) + "65536");
  const int every = std::max(1, int(std::ceil(widest / wide)));
  p.setPen(theme.line);
  p.drawLine(box.bottomLeft(), box.bottomRight());
  for (size_t i = 0; i < bins.size(); ++i) {
    const ElementBin& bin = bins[i];
    const double left = box.left() + double(i) * wide;
    if (bin.count != 0) {
      const double share = std::log2(double(bin.count) + 1) / std::log2(most + 1);
      const double height = std::max(2.0, share * box.height());
      const QColor color = theme.label(i == 0 ? Label::identical : Label::origin);
      p.fillRect(QRectF(left + 1, box.bottom() - height, std::max(1.0, wide - 2), height), color);
      const QString count = countText(bin.count);
      if (p.fontMetrics().horizontalAdvance(count) < wide * 1.2) {
        p.setPen(theme.text);
        p.drawText(QRectF(left - wide, box.bottom() - height - line, 3 * wide, line), Qt::AlignCenter,
                   count);
      }
    }
    if (i % size_t(every) != 0) continue;
    p.setPen(theme.dim);
    p.drawText(QRectF(left - wide, box.bottom() + 1, 3 * wide, line), Qt::AlignCenter, binText(bin));
  }
  p.setPen(theme.dim);
  p.drawText(QRectF(box.left(), box.bottom() + line, box.width(), line), Qt::AlignCenter,
             elements_->inUlps ? "difference in ulps (counts on a log scale)"
                               : "difference (counts on a log scale)");
}

}  // namespace ulpscope::gui
