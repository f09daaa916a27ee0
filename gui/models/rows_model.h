#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "gui/models/document.h"
#include "gui/models/filter.h"

namespace ulpscope::gui {

/// The aligned rows: headings that fold (step, phase, module, region), and pairs below them. A pair
/// takes as many lines as its longer side has ops. Flat on purpose: a million rows are a vector of
/// 8-byte entries, and scrolling costs what is on the screen.
class RowsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { columnA, columnLink, columnB, columnError, kColumns };
  enum Roles { PairRole = Qt::UserRole, LineRole, NodeRole, LabelRole };

  /// One row as the delegate draws it.
  struct Row {
    bool heading = false;
    uint32_t node = 0;  ///< the fold node: the heading's own, or the pair's
    uint32_t pair = kNoPair;
    uint16_t line = 0;
    uint16_t lines = 1;
    uint16_t decisive = 0;  ///< the line of the op that decided the label
    int depth = 0;  ///< of indentation
    bool collapsed = false;
  };

  explicit RowsModel(QObject* parent = nullptr);

  /// Keeps what is collapsed and the filter where the new document continues the old one (`grown`).
  void setDocument(std::shared_ptr<const Document> document, bool grown = false);
  const std::shared_ptr<const Document>& document() const { return document_; }
  void setFilter(Filter filter);
  const Filter& filter() const { return filter_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  Row row(int index) const;
  /// The op of one side at a row; nullptr for a heading, a gap and a line past the group's end.
  const Op* op(const Row& row, SideName which) const;
  /// The text of an op's cell, and what stands dimmed behind it.
  QString opText(const Row& row, SideName which) const;
  QString opNote(const Row& row, SideName which) const;
  QString headingSummary(uint32_t node) const;  ///< "312 ops, 2 start here, 40 carried on"

  /// The node whose heading stands above this row (0: none); folding it hides the row.
  uint32_t headingAbove(const Row& row) const;
  bool isCollapsed(uint32_t node) const { return collapsed_[node] != 0; }
  void setCollapsed(uint32_t node, bool collapsed);
  /// Collapses every node of this kind and all kinds below it, opens those above.
  void collapseFrom(FoldKind kind);
  void expandAll();
  /// The line of a group's op whose value decided its label; 0 for a pair of two ops.
  int decisiveLine(uint32_t pair) const;
  /// The row of a pair's line; -1 where it is folded away or filtered out.
  int rowOf(uint32_t pair, int line = 0) const;
  /// Opens what hides the pair; false where the filter does.
  bool reveal(uint32_t pair);
  /// The first pair at or after a row, for the minimap and for stepping from a heading.
  uint32_t pairAt(int row) const;
  int64_t visiblePairs() const { return visiblePairs_; }

 private:
  struct Entry {
    uint32_t index;  ///< pair, or node where line is kHeading
    uint32_t line;
  };
  static constexpr uint32_t kHeading = UINT32_MAX;
  void rebuild();
  bool elided(const FoldNode& node) const;
  int linesOf(uint32_t pair) const;
  uint32_t firstPair(const Entry& entry) const;

  std::shared_ptr<const Document> document_;
  Filter filter_;
  std::vector<Entry> rows_;
  std::vector<char> collapsed_;  ///< by node
  int64_t visiblePairs_ = 0;
};

}  // namespace ulpscope::gui
