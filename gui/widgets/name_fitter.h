#pragma once

#include <QFont>
#include <QHash>
#include <QPainter>
#include <QString>
#include <functional>

namespace ulpscope::gui {

/// Fits names of ops and modules into little room: whole where they fit, else in a narrower face, else
/// without whole words of their middle ("_scaled_dot_product_…_for_cpu"), so that what is left can be
/// read. Remembers what it measured: a view that scrolls asks for the same names again and again.
class NameFitter {
 public:
  explicit NameFitter(const QFont& font) : font_(font) {}
  const QFont& font() const { return font_; }

  /// Draws `name` left-aligned and centred in height; returns the width that it took.
  int draw(QPainter& painter, const QRect& box, const QString& name);
  /// As above, right-aligned.
  int drawRight(QPainter& painter, const QRect& box, const QString& name);
  /// The width of the whole name in the normal face.
  int width(const QString& name);

 private:
  struct Fitted {
    QString text;
    QFont font;
    int width = 0;
  };
  const Fitted& fit(const QString& name, int width);

  QFont font_;
  QHash<QPair<QString, int>, Fitted> fitted_;
  QHash<QString, int> widths_;
};

/// The longest form of `name` that `fits`, by leaving out words of its middle; empty where not even
/// its first and last word fit.
QString withoutMiddleWords(const QString& name, const std::function<bool(const QString&)>& fits);

}  // namespace ulpscope::gui
