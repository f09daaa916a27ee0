#pragma once

#include <QString>

class QWidget;

namespace ulpscope::gui {

/// Writes what a widget shows, as PNG (`scale` times its size) or, where the path ends in .svg, as
/// SVG. False with one line in `problem`.
bool exportPicture(QWidget& widget, const QString& path, QString* problem, double scale = 2);

}  // namespace ulpscope::gui
