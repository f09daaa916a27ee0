#pragma once

#include <QStyledItemDelegate>
#include <memory>

#include "gui/models/rows_model.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {

/// Draws the cells of RowsModel. A heading runs across all columns: each of its cells draws the whole
/// heading, clipped to the cell.
class RowDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  explicit RowDelegate(QObject* parent = nullptr);
  ~RowDelegate() override;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

  static int rowHeight(const QFont& font);
  static int indent(int depth);
  /// The chosen pair: all its lines are drawn as selected.
  void setCurrent(uint32_t pair) { current_ = pair; }
  /// The pair whose ops are marked for re-pairing; kNoPair none.
  void setMarked(uint32_t pair) { marked_ = pair; }
  void setBookmarks(std::vector<uint32_t> pairs) { bookmarks_ = std::move(pairs); }

 private:
  struct Context;
  struct Fonts;
  Fonts& fonts(const QFont& font) const;
  void paintHeading(const Context& at) const;
  void paintOp(const Context& at, SideName which) const;
  /// What stands at the right end of an op's cell; returns the width that it took.
  int paintTags(const Context& at, const QRect& box) const;
  void paintLink(const Context& at) const;
  void paintError(const Context& at) const;

  mutable std::unique_ptr<Fonts> fonts_;
  uint32_t current_ = kNoPair;
  uint32_t marked_ = kNoPair;
  std::vector<uint32_t> bookmarks_;  ///< sorted
};

}  // namespace ulpscope::gui
