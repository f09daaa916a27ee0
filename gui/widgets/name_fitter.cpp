#include "gui/widgets/name_fitter.h"

#include <QFontMetrics>
#include <QStringList>

namespace ulpscope::gui {
namespace {

constexpr int kRemembered = 8192;
/// Narrower faces to try; 87 is what "semi-condensed" means to Qt, and 75 "condensed".
constexpr int kStretches[] = {QFont::SemiCondensed, QFont::Condensed};

/// Words with the separator in front of each: "_scaled_dot" -> "_scaled", "_dot".
QStringList wordsOf(const QString& name) {
  QStringList words;
  qsizetype start = 0;
  for (qsizetype i = 1; i < name.size(); ++i) {
    const QChar c = name[i];
    if (c != '_' && c != ' ' && c != '.' && c != ',') continue;
    if (i - start < 2) continue;  // "__", ", "
    words << name.mid(start, i - start);
    start = i;
  }
  words << name.mid(start);
  return words;
}

}  // namespace

QString withoutMiddleWords(const QString& name, const std::function<bool(const QString&)>& fits) {
  const QStringList words = wordsOf(name);
  const qsizetype count = words.size();
  for (qsizetype kept = count - 1; kept >= 2; --kept) {
    const qsizetype head = (kept + 1) / 2;
    const QString text = words.mid(0, head).join(QString()) + QChar(0x2026) +
                         words.mid(count - (kept - head)).join(QString());
    if (fits(text)) return text;
  }
  return {};
}

const NameFitter::Fitted& NameFitter::fit(const QString& name, int width) {
  const QPair<QString, int> key(name, width);
  if (const auto at = fitted_.constFind(key); at != fitted_.constEnd()) return *at;
  if (fitted_.size() > kRemembered) fitted_.clear();
  Fitted best{name, font_, this->width(name)};
  if (best.width > width) {
    QFont font = font_;
    bool done = false;
    for (int stretch : kStretches) {
      font.setStretch(stretch);
      best = {name, font, QFontMetrics(font).horizontalAdvance(name)};
      done = best.width <= width;
      if (done) break;
    }
    if (!done) {
      const QFontMetrics metrics(font);
      best.text = withoutMiddleWords(
          name, [&](const QString& text) { return metrics.horizontalAdvance(text) <= width; });
      if (best.text.isEmpty()) best.text = metrics.elidedText(name, Qt::ElideRight, width);
      best.width = metrics.horizontalAdvance(best.text);
    }
  }
  return *fitted_.insert(key, best);
}

int NameFitter::width(const QString& name) {
  if (const auto at = widths_.constFind(name); at != widths_.constEnd()) return *at;
  if (widths_.size() > kRemembered) widths_.clear();
  return *widths_.insert(name, QFontMetrics(font_).horizontalAdvance(name));
}

int NameFitter::draw(QPainter& painter, const QRect& box, const QString& name) {
  const Fitted& fitted = fit(name, box.width());
  painter.setFont(fitted.font);
  const QFontMetrics metrics(fitted.font);
  painter.drawText(QPoint(box.left(), box.top() + (box.height() + metrics.ascent() -
                                                   metrics.descent()) / 2),
                   fitted.text);
  return fitted.width;
}

int NameFitter::drawRight(QPainter& painter, const QRect& box, const QString& name) {
  const int width = fit(name, box.width()).width;
  return draw(painter, box.adjusted(std::max(0, box.width() - width), 0, 0, 0), name);
}

}  // namespace ulpscope::gui
