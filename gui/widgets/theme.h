#pragma once

#include <QColor>
#include <QPainter>
#include <QPalette>

#include "diff/result.h"

class QApplication;

namespace ulpscope::gui {

/// Colours of the viewer, for a light and a dark desktop. The labels use the palette of Okabe and
/// Ito, which people with any common colour blindness can tell apart, and each label has a shape of
/// its own besides, so that nothing is told by colour alone.
struct Theme {
  bool dark = false;
  QColor base, text, dim, faint, line, heading, accent;

  QColor label(Label label) const;
  /// Behind a row with this label; transparent for identical.
  QColor tint(Label label) const;
  /// Text on the full colour of a label or of the accent.
  QColor onLabel() const { return dark ? QColor("#14171b") : QColor("#ffffff"); }
  /// Text that steps back behind what differs.
  QColor quiet() const { return dark ? QColor("#b4bcc5") : QColor("#4a535d"); }
  /// Behind what is chosen, where no tint is.
  QColor chosen() const;
};

enum class ThemeChoice { automatic, light, dark };

/// Sets the palette of the whole application. `automatic` keeps the desktop's.
void applyTheme(QApplication& application, ThemeChoice choice);

/// The theme that goes with a widget's palette.
const Theme& themeOf(const QPalette& palette);

/// The shape of a label, in the label's colour, centred in `box`.
void drawGlyph(QPainter& painter, const QRectF& box, Label label, const Theme& theme);

/// The widget's own font with another size (relative) or weight.
QFont scaledFont(const QFont& font, double factor, bool bold = false);

}  // namespace ulpscope::gui
