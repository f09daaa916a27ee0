#pragma once

#include <QTableView>

#include "gui/models/rows_model.h"

namespace ulpscope::gui {

class RowDelegate;

/// The two aligned columns. Left and Right fold and unfold as in a tree; the rest of the keyboard is
/// QTableView's.
class RowsView : public QTableView {
  Q_OBJECT

 public:
  explicit RowsView(QWidget* parent = nullptr);

  void setRows(RowsModel* model);
  RowDelegate* rows() const { return delegate_; }
  /// Selects a pair and brings it into view with some of what comes before; false where the filter
  /// hides it.
  bool showPair(uint32_t pair, int line = 0);

 signals:
  void pairChosen(uint32_t pair, int line);           ///< by the user
  void rangeChanged(uint32_t first, uint32_t last);  ///< pairs in view

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void toggle(const QModelIndex& index);
  void setFolded(uint32_t node, bool folded);
  void layoutColumns();
  void announceRange();
  bool onFoldMark(const QModelIndex& index, const QPoint& position) const;

  RowsModel* model_ = nullptr;
  RowDelegate* delegate_;
  bool quiet_ = false;  ///< a selection of our own: not to be announced
};

}  // namespace ulpscope::gui
