#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "gui/models/error_series.h"

namespace ulpscope::gui {

/// The whole run from top to bottom: what happens to the difference (colour), how large it is (length
/// of the bar, log scale), where it starts (marks), and the part in view. Click or drag to go there.
class Minimap : public QWidget {
  Q_OBJECT

 public:
  explicit Minimap(QWidget* parent = nullptr);

  void setDocument(std::shared_ptr<const Document> document);
  void setRange(uint32_t first, uint32_t last);
  void setCurrent(uint32_t pair);
  QSize sizeHint() const override { return {84, 400}; }

 signals:
  void pairChosen(uint32_t pair);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  uint32_t pairAt(qreal y) const;
  qreal yOf(double pair) const;
  void choose(qreal y);

  std::shared_ptr<const Document> document_;
  std::vector<ErrorBin> bins_;
  std::vector<uint32_t> starts_;
  uint32_t first_ = 0;
  uint32_t last_ = 0;
  uint32_t current_ = kNoPair;
};

}  // namespace ulpscope::gui
