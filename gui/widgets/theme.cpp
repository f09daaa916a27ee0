#include "gui/widgets/theme.h"

#include <QApplication>
#include <QPainterPath>
#include <QStyleFactory>

namespace ulpscope::gui {
namespace {

const Theme kLight{false,     "#ffffff", "#1b1f24", "#66707b", "#e9edf1",
                   "#d3d9df", "#f3f5f8", "#2a6fdb"};
const Theme kDark{true,      "#16191d", "#e4e8ec", "#97a1ac", "#272c33",
                  "#3a414a", "#1f242a", "#6ea8ff"};

QPalette paletteOf(const Theme& theme) {
  QPalette palette;
  const QColor window = theme.dark ? QColor("#1c2025") : QColor("#f7f8fa");
  const QColor button = theme.dark ? QColor("#2a3038") : QColor("#eef1f4");
  palette.setColor(QPalette::Window, window);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.base);
  palette.setColor(QPalette::AlternateBase, theme.heading);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::Button, button);
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::BrightText, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.dim);
  palette.setColor(QPalette::ToolTipBase, theme.heading);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Highlight, theme.accent);
  palette.setColor(QPalette::HighlightedText, theme.dark ? QColor("#10131a") : QColor("#ffffff"));
  palette.setColor(QPalette::Link, theme.accent);
  for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, theme.dim);
  return palette;
}

}  // namespace

QColor Theme::label(Label label) const {
  switch (label) {
    case Label::identical: return dark ? "#6b7580" : "#a3adb7";
    case Label::within: return dark ? "#a9b8c6" : "#7d8fa0";
    case Label::origin: return dark ? "#ff7b39" : "#d55e00";
    case Label::propagated: return dark ? "#f0b429" : "#e69f00";
    case Label::healed: return dark ? "#2fc597" : "#009e73";
    case Label::structural: return dark ? "#56b4e9" : "#0072b2";
    case Label::source: return dark ? "#e79cc4" : "#b3578c";
    case Label::opaque: return dark ? "#808a94" : "#8c96a0";
  }
  return dim;
}

QColor Theme::tint(Label label) const {
  int alpha = 0;
  switch (label) {
    case Label::origin: alpha = dark ? 80 : 56; break;
    case Label::structural:
    case Label::source: alpha = dark ? 56 : 38; break;
    case Label::propagated: alpha = dark ? 26 : 26; break;
    case Label::healed: alpha = dark ? 30 : 26; break;
    default: break;
  }
  QColor color = this->label(label);
  color.setAlpha(alpha);
  return color;
}

QColor Theme::chosen() const {
  QColor color = accent;
  color.setAlpha(dark ? 60 : 36);
  return color;
}

void applyTheme(QApplication& application, ThemeChoice choice) {
  static const QPalette desktop = application.palette();
  // Names of ops need no ligatures and kerning; shaping them is most of the time of a repaint.
  QFont font = application.font();
  font.setStyleStrategy(QFont::StyleStrategy(font.styleStrategy() | QFont::PreferNoShaping));
  application.setFont(font);
  application.setStyle(QStyleFactory::create("Fusion"));
  const bool dark = choice == ThemeChoice::dark ||
                    (choice == ThemeChoice::automatic &&
                     desktop.color(QPalette::Window).lightness() < 128);
  application.setPalette(paletteOf(dark ? kDark : kLight));
}

const Theme& themeOf(const QPalette& palette) {
  return palette.color(QPalette::Base).lightness() < 128 ? kDark : kLight;
}

void drawGlyph(QPainter& painter, const QRectF& box, Label label, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const QPointF c = box.center();
  const qreal r = std::min(box.width(), box.height()) / 2;
  const QColor color = theme.label(label);
  const QPen pen(color, std::max(1.4, r * 0.32), Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin);
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  const auto polygon = [&](std::initializer_list<QPointF> points) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(points.begin(), int(points.size()));
  };
  switch (label) {
    case Label::identical:  // an equals sign
      painter.drawLine(c + QPointF(-r * .55, -r * .3), c + QPointF(r * .55, -r * .3));
      painter.drawLine(c + QPointF(-r * .55, r * .3), c + QPointF(r * .55, r * .3));
      break;
    case Label::within: {  // one wave
      QPainterPath path(c + QPointF(-r * .7, r * .1));
      path.cubicTo(c + QPointF(-r * .2, -r * .8), c + QPointF(r * .2, r * .8),
                   c + QPointF(r * .7, -r * .1));
      painter.drawPath(path);
      break;
    }
    case Label::origin: {  // a filled star: the thing to find
      QPolygonF star;
      for (int i = 0; i < 10; ++i) {
        const qreal angle = -M_PI / 2 + i * M_PI / 5;
        const qreal size = i % 2 ? r * 0.48 : r * 1.1;
        star << c + QPointF(std::cos(angle) * size, std::sin(angle) * size);
      }
      painter.setPen(Qt::NoPen);
      painter.setBrush(color);
      painter.drawPolygon(star);
      break;
    }
    case Label::propagated:  // an arrow down: it flows on
      painter.drawLine(c + QPointF(0, -r * .75), c + QPointF(0, r * .2));
      polygon({c + QPointF(-r * .6, r * .05), c + QPointF(r * .6, r * .05), c + QPointF(0, r * .9)});
      break;
    case Label::healed:  // a tick
      painter.drawPolyline(QPolygonF{
          {c + QPointF(-r * .65, 0), c + QPointF(-r * .15, r * .55), c + QPointF(r * .7, -r * .6)}});
      break;
    case Label::structural:  // a hollow square
      painter.drawRect(QRectF(c.x() - r * .65, c.y() - r * .65, r * 1.3, r * 1.3));
      break;
    case Label::source:  // a filled diamond
      polygon({c + QPointF(0, -r), c + QPointF(r, 0), c + QPointF(0, r), c + QPointF(-r, 0)});
      break;
    case Label::opaque:  // a dotted ring
      painter.setPen(QPen(color, std::max(1.2, r * .25), Qt::DotLine));
      painter.drawEllipse(c, r * .7, r * .7);
      break;
  }
  painter.restore();
}

QFont scaledFont(const QFont& font, double factor, bool bold) {
  QFont scaled = font;
  if (font.pointSizeF() > 0) {
    scaled.setPointSizeF(font.pointSizeF() * factor);
  } else {
    scaled.setPixelSize(std::max(1, int(font.pixelSize() * factor)));
  }
  scaled.setBold(bold);
  return scaled;
}

}  // namespace ulpscope::gui
