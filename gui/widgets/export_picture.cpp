#include "gui/widgets/export_picture.h"

#include <QImageWriter>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QWidget>

namespace ulpscope::gui {

bool exportPicture(QWidget& widget, const QString& path, QString* problem, double scale) {
  QSaveFile file(path);
  const auto fail = [&](const QString& why) {
    *problem = QString("the picture can't be written: %1: %2").arg(path, why);
    return false;
  };
  if (!file.open(QIODevice::WriteOnly)) return fail(file.errorString());
  if (path.endsWith(".svg", Qt::CaseInsensitive)) {
    QSvgGenerator generator;
    generator.setOutputDevice(&file);
    generator.setSize(widget.size());
    generator.setViewBox(widget.rect());
    generator.setTitle("ulpscope: " + widget.accessibleName());
    QPainter painter(&generator);
    widget.render(&painter, {}, {}, QWidget::DrawWindowBackground | QWidget::DrawChildren);
    painter.end();
  } else {
    QImage image((QSizeF(widget.size()) * scale).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(scale);
    image.fill(widget.palette().color(QPalette::Window));
    widget.render(&image);
    QImageWriter writer(&file, "png");
    if (!writer.write(image)) return fail(writer.errorString());
  }
  return file.commit() ? true : fail(file.errorString());
}

}  // namespace ulpscope::gui
