#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/element_values.h"

namespace ulpscope::gui {

/// How many elements differ by how much: a column for each power of two of ulps (or of the values' own
/// unit), counts on a log scale, each with its number.
class Histogram : public QWidget {
  Q_OBJECT

 public:
  explicit Histogram(QWidget* parent = nullptr);

  void setElements(std::shared_ptr<const ElementPicture> elements);
  QSize sizeHint() const override { return {360, 110}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::shared_ptr<const ElementPicture> elements_;
};

}  // namespace ulpscope::gui
