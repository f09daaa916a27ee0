#pragma once

#include <QWidget>

#include "diff/result.h"

namespace ulpscope::gui {

/// What the shapes mean, in one line, for the labels that occur.
class Legend : public QWidget {
  Q_OBJECT

 public:
  explicit Legend(QWidget* parent = nullptr);

  void setCounts(const Counts& counts);
  void clear();
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  int widthOf(Label label) const;

  std::vector<Label> labels_;
};

}  // namespace ulpscope::gui
