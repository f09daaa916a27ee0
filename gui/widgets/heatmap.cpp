#include "gui/widgets/heatmap.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/format.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {

constexpr int kScaleWidth = 74;  // at the right: the colours and what they mean

/// Steps of a colour scale, each with more contrast to the background than the one before; readable
/// with any common colour blindness because brightness alone orders them.
using Steps = std::array<QColor, 5>;
const Steps& scaleOf(bool dark) {
  static const Steps light{"#fdd9a5", "#f4a261", "#d55e00", "#8c2d04", "#3b0f02"};
  static const Steps darker{"#5a3a12", "#8f5410", "#d5760f", "#ffb000", "#fff3c4"};
  return dark ? darker : light;
}
const Steps& negativeOf(bool dark) {
  static const Steps light{"#cfe4f5", "#86bde6", "#3a8fd0", "#0b5fa5", "#03305c"};
  static const Steps darker{"#17384f", "#1d5b86", "#2f86c0", "#6cb7ee", "#d4ecff"};
  return dark ? darker : light;
}

QRgb mix(const Steps& steps, double share) {
  const double at = std::clamp(share, 0.0, 1.0) * double(steps.size() - 1);
  const size_t below = std::min(size_t(at), steps.size() - 2);
  const double rest = at - double(below);
  const QColor& x = steps[below];
  const QColor& y = steps[below + 1];
  const auto part = [&](int from, int to) { return int(std::lround(from + rest * (to - from))); };
  return qRgb(part(x.red(), y.red()), part(x.green(), y.green()), part(x.blue(), y.blue()));
}

}  // namespace

Heatmap::Heatmap(QWidget* parent) : QWidget(parent) {
  setObjectName("heatmap");
  setAccessibleName("Differences of the elements");
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(200, 90);
}

void Heatmap::setElements(std::shared_ptr<const ElementPicture> elements) {
  elements_ = std::move(elements);
  low_ = 0;
  high_ = 1;
  if (elements_ && elements_->both) {
    float least = INFINITY;
    float most = 0;
    for (float value : elements_->shown) {
      if (!(value > 0) || std::isinf(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (most > 0) {
      high_ = std::log10(double(most));
      // A handful of decades keeps colours apart; what is smaller shares the palest.
      low_ = std::max(std::log10(double(least)), high_ - 6);
    }
  } else if (elements_) {
    high_ = elements_->largest > 0 && std::isfinite(elements_->largest) ? elements_->largest : 1;
  }
  showAll();
}

QRectF Heatmap::area() const { return QRectF(rect()).adjusted(1, 1, -kScaleWidth, -1); }

void Heatmap::showAll() {
  image_ = {};
  view_ = elements_ ? QRectF(0, 0, double(elements_->columns), double(elements_->rows)) : QRectF();
  update();
}

void Heatmap::setView(const QRectF& view) {
  if (!elements_ || elements_->elements() == 0) return;
  const double columns = double(elements_->columns);
  const double rows = double(elements_->rows);
  const double width = std::clamp(view.width(), std::min(columns, 4.0), columns);
  const double height = std::clamp(view.height(), std::min(rows, 4.0), rows);
  view_ = QRectF(std::clamp(view.x(), 0.0, columns - width), std::clamp(view.y(), 0.0, rows - height),
                 width, height);
  image_ = {};
  update();
}

void Heatmap::zoom(double factor, const QPointF& at) {
  const QRectF box = area();
  const double x = std::clamp((at.x() - box.left()) / box.width(), 0.0, 1.0);
  const double y = std::clamp((at.y() - box.top()) / box.height(), 0.0, 1.0);
  const double width = view_.width() * factor;
  const double height = view_.height() * factor;
  setView({view_.x() + x * (view_.width() - width), view_.y() + y * (view_.height() - height), width,
           height});
}

QRgb Heatmap::colorOf(float value) const {
  const Theme& theme = themeOf(palette());
  if (elements_->both) {
    if (value == 0) return theme.heading.rgb();
    if (std::isinf(value)) return theme.label(Label::source).rgb();
    const double range = std::max(1e-9, high_ - low_);
    return mix(scaleOf(theme.dark), (std::log10(double(value)) - low_) / range);
  }
  if (std::isnan(value)) return theme.label(Label::source).rgb();
  return mix(value < 0 ? negativeOf(theme.dark) : scaleOf(theme.dark), std::abs(double(value)) / high_);
}

void Heatmap::draw() {
  const qreal ratio = devicePixelRatioF();
  const QRectF box = area();
  const int width = std::max(1, int(box.width() * ratio));
  const int height = std::max(1, int(box.height() * ratio));
  image_ = QImage(width, height, QImage::Format_RGB32);
  image_.setDevicePixelRatio(ratio);
  image_.fill(themeOf(palette()).base);
  const int64_t count = elements_->elements();
  const auto larger = [&](float x, float y) {
    return std::isnan(y) || std::abs(y) > std::abs(x) ? y : x;
  };
  const auto range = [](double start, double size, int pixel, int pixels, int64_t limit) {
    const int64_t first = int64_t(start + size * pixel / pixels);
    const int64_t last = std::max(first + 1, int64_t(start + size * (pixel + 1) / pixels));
    return std::pair(std::min(first, limit - 1), std::min(last, limit));
  };
  std::vector<float> strip(size_t(elements_->columns));
  for (int y = 0; y < height; ++y) {
    const auto [top, bottom] = range(view_.y(), view_.height(), y, height, elements_->rows);
    auto* line = reinterpret_cast<QRgb*>(image_.scanLine(y));
    const int64_t from = int64_t(view_.left());
    const int64_t to = std::min(elements_->columns, int64_t(std::ceil(view_.right())));
    for (int64_t column = from; column < to; ++column) {
      float most = 0;
      for (int64_t row = top; row < bottom; ++row)
        if (const int64_t at = row * elements_->columns + column; at < count)
          most = larger(most, elements_->shown[size_t(at)]);
      strip[size_t(column)] = most;
    }
    for (int x = 0; x < width; ++x) {
      const auto [left, right] = range(view_.x(), view_.width(), x, width, elements_->columns);
      float most = strip[size_t(left)];
      for (int64_t column = left + 1; column < right; ++column)
        most = larger(most, strip[size_t(column)]);
      if (top * elements_->columns + left < count) line[x] = colorOf(most);
    }
  }
}

void Heatmap::paintScale(QPainter& p) const {
  const Theme& theme = themeOf(palette());
  const QRectF bar(width() - kScaleWidth + 8, 8, 12, std::max(20, height() - 30));
  const bool both = elements_->both;
  for (int y = 0; y < int(bar.height()); ++y) {
    const double share = 1 - y / bar.height();
    const QRgb color = both ? mix(scaleOf(theme.dark), share)
                            : mix(share < 0.5 ? negativeOf(theme.dark) : scaleOf(theme.dark),
                                  std::abs(share - 0.5) * 2);
    p.fillRect(QRectF(bar.left(), bar.top() + y, bar.width(), 1.5), QColor(color));
  }
  p.setFont(scaledFont(font(), 0.8));
  p.setPen(theme.dim);
  const auto text = [&](qreal y, const QString& value) {
    p.drawText(QPointF(bar.right() + 4, y), value);
  };
  const int height = p.fontMetrics().ascent();
  text(bar.top() + height - 2, both ? errorText(float(std::pow(10, high_))) : numberText(high_));
  text(bar.bottom(), both ? errorText(float(std::pow(10, low_))) : numberText(-high_));
  if (!both) return;
  p.fillRect(QRectF(bar.left(), bar.bottom() + 6, bar.width(), 10), theme.heading);
  p.setPen(theme.line);
  p.drawRect(QRectF(bar.left(), bar.bottom() + 6, bar.width(), 10));
  p.setPen(theme.dim);
  text(bar.bottom() + 6 + height, "equal");
}

void Heatmap::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const Theme& theme = themeOf(palette());
  p.fillRect(rect(), theme.base);
  if (!elements_ || elements_->elements() == 0) return;
  if (image_.isNull()) draw();
  const QRectF box = area();
  p.drawImage(box.topLeft(), image_);
  p.setPen(hasFocus() ? QPen(theme.accent, 2) : QPen(theme.line, 1));
  p.setBrush(Qt::NoBrush);
  p.drawRect(box);
  if (elements_->worst >= 0 && elements_->largest > 0) {  // a ring around the largest
    const double column = double(elements_->worst % elements_->columns) + 0.5;
    const double row = double(elements_->worst / elements_->columns) + 0.5;
    const QPointF at(box.left() + (column - view_.x()) / view_.width() * box.width(),
                     box.top() + (row - view_.y()) / view_.height() * box.height());
    if (box.contains(at)) {
      p.setRenderHint(QPainter::Antialiasing);
      p.setPen(QPen(theme.base, 4));
      p.drawEllipse(at, 7, 7);
      p.setPen(QPen(theme.accent, 2));
      p.drawEllipse(at, 7, 7);
    }
  }
  paintScale(p);
}

void Heatmap::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) image_ = {};
  QWidget::changeEvent(event);
}

int64_t Heatmap::elementAt(const QPointF& position) const {
  const QRectF box = area();
  if (!elements_ || elements_->elements() == 0 || !box.contains(position)) return -1;
  const int64_t column = int64_t(view_.x() + (position.x() - box.left()) / box.width() * view_.width());
  const int64_t row = int64_t(view_.y() + (position.y() - box.top()) / box.height() * view_.height());
  const int64_t element = std::min(row, elements_->rows - 1) * elements_->columns +
                          std::min(column, elements_->columns - 1);
  return element < elements_->elements() ? element : -1;
}

void Heatmap::wheelEvent(QWheelEvent* event) {
  zoom(std::pow(0.8, event->angleDelta().y() / 120.0), event->position());
  event->accept();
}

void Heatmap::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  pressedView_ = view_;
}

void Heatmap::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & Qt::LeftButton)) return;
  const QPointF moved = event->position() - pressed_;
  const QRectF box = area();
  setView(pressedView_.translated(-moved.x() / box.width() * pressedView_.width(),
                                  -moved.y() / box.height() * pressedView_.height()));
}

void Heatmap::keyPressEvent(QKeyEvent* event) {
  const double x = view_.width() / 4;
  const double y = view_.height() / 4;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom(0.7, area().center());
    case Qt::Key_Minus: return zoom(1 / 0.7, area().center());
    case Qt::Key_0: return showAll();
    case Qt::Key_Left: return setView(view_.translated(-x, 0));
    case Qt::Key_Right: return setView(view_.translated(x, 0));
    case Qt::Key_Up: return setView(view_.translated(0, -y));
    case Qt::Key_Down: return setView(view_.translated(0, y));
    default: QWidget::keyPressEvent(event);
  }
}

bool Heatmap::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const int64_t element = elementAt(help->pos());
    if (element < 0) QToolTip::hideText();
    else
      QToolTip::showText(help->globalPos(),
                         elements_->indexText(element) + "\n" +
                             elements_->elementText(element).replace(", ", "\n"),
                         this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ulpscope::gui
