#include "gui/widgets/rows_view.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QScopedValueRollback>
#include <QScrollBar>

#include "gui/widgets/row_delegate.h"

namespace ulpscope::gui {

RowsView::RowsView(QWidget* parent) : QTableView(parent), delegate_(new RowDelegate(this)) {
  setObjectName("rows");
  setAccessibleName("Aligned ops of A and B");
  setItemDelegate(delegate_);
  setSelectionBehavior(SelectRows);
  setSelectionMode(SingleSelection);
  setShowGrid(false);
  setWordWrap(false);
  setFrameShape(NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollMode(ScrollPerItem);
  setTabKeyNavigation(false);
  setCornerButtonEnabled(false);
  verticalHeader()->hide();
  // Fixed sections let the header keep a million rows without measuring one.
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setMinimumSectionSize(1);
  horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setMinimumSectionSize(1);
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, &RowsView::announceRange);
}

void RowsView::setRows(RowsModel* model) {
  model_ = model;
  verticalHeader()->setDefaultSectionSize(RowDelegate::rowHeight(font()));
  setModel(model);
  connect(model, &QAbstractItemModel::modelReset, this, [this] {
    layoutColumns();
    announceRange();
  });
  layoutColumns();
}

bool RowsView::showPair(uint32_t pair, int line) {
  if (!model_ || !model_->reveal(pair)) return false;
  const int row = model_->rowOf(pair, line);
  if (row < 0) return false;
  const QScopedValueRollback quiet(quiet_, true);
  const QModelIndex index = model_->index(row, RowsModel::columnA);
  const int top = rowAt(0);
  const int visible = std::max(1, viewport()->height() / std::max(1, rowHeight(row)));
  setCurrentIndex(index);
  if (top < 0 || row < top + 2 || row > top + visible - 3) {
    // Some of what comes before stays in view; of a group its first line, where there is room.
    constexpr int kBefore = 3;
    const int above = std::max(row - visible * 3 / 4, std::min(row - visible / 3, row - line - kBefore));
    scrollTo(model_->index(std::max(0, above), 0), PositionAtTop);
  }
  return true;
}

void RowsView::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableView::currentChanged(current, previous);
  if (quiet_ || !model_ || !current.isValid()) return;
  const RowsModel::Row row = model_->row(current.row());
  if (!row.heading) emit pairChosen(row.pair, row.line);
}

void RowsView::setFolded(uint32_t node, bool folded) {
  const QScopedValueRollback quiet(quiet_, true);
  const int scroll = verticalScrollBar()->value();
  model_->setCollapsed(node, folded);
  verticalScrollBar()->setValue(scroll);
  // Find the heading of the node again, now that rows have moved.
  for (int low = 0, high = model_->rowCount() - 1; low <= high;) {
    const int middle = (low + high) / 2;
    const RowsModel::Row row = model_->row(middle);
    const auto& nodes = model_->document()->tree.nodes;
    // Headings stand in the order of nodes, and pairs after the headings that hold them.
    const bool before = row.heading ? row.node < node : row.pair < nodes[node].first;
    if (row.heading && row.node == node) {
      setCurrentIndex(model_->index(middle, 0));
      return;
    }
    if (before) low = middle + 1;
    else high = middle - 1;
  }
}

void RowsView::toggle(const QModelIndex& index) {
  const RowsModel::Row row = model_->row(index.row());
  if (row.heading) setFolded(row.node, !row.collapsed);
}

void RowsView::keyPressEvent(QKeyEvent* event) {
  const QModelIndex current = currentIndex();
  const bool plain = !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier));
  if (model_ && current.isValid() && plain) {
    const RowsModel::Row row = model_->row(current.row());
    const int key = event->key();
    if (row.heading && (key == Qt::Key_Space || key == Qt::Key_Return || key == Qt::Key_Enter))
      return toggle(current);
    if (key == Qt::Key_Right && row.heading) return setFolded(row.node, false);
    if (key == Qt::Key_Left) {
      if (row.heading && !row.collapsed) return setFolded(row.node, true);
      const uint32_t parent = model_->headingAbove(row);
      if (parent != 0) return setFolded(parent, true);
      return;
    }
    if (key == Qt::Key_Right) return;
  }
  QTableView::keyPressEvent(event);
}

bool RowsView::onFoldMark(const QModelIndex& index, const QPoint& position) const {
  const RowsModel::Row row = model_->row(index.row());
  if (!row.heading) return false;
  const int left = RowDelegate::indent(row.depth);
  return position.x() >= left - 6 && position.x() <= left + 14;
}

void RowsView::mousePressEvent(QMouseEvent* event) {
  QTableView::mousePressEvent(event);
  const QModelIndex index = indexAt(event->pos());
  if (event->button() == Qt::LeftButton && index.isValid() && onFoldMark(index, event->pos()))
    toggle(index);
}

void RowsView::mouseDoubleClickEvent(QMouseEvent* event) {
  const QModelIndex index = indexAt(event->pos());
  if (index.isValid() && !onFoldMark(index, event->pos())) toggle(index);
}

void RowsView::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  layoutColumns();
  announceRange();
}

void RowsView::changeEvent(QEvent* event) {
  QTableView::changeEvent(event);
  if (event->type() == QEvent::FontChange)
    verticalHeader()->setDefaultSectionSize(RowDelegate::rowHeight(font()));
}

void RowsView::layoutColumns() {
  if (!model_ || !model()) return;
  const bool single = model_->document() && model_->document()->single;
  setColumnHidden(RowsModel::columnLink, single);
  setColumnHidden(RowsModel::columnB, single);
  setColumnHidden(RowsModel::columnError, single);
  const int width = viewport()->width();
  if (single) {
    setColumnWidth(RowsModel::columnA, width);
    return;
  }
  const int link = 40;
  const int error = fontMetrics().horizontalAdvance("0.0e-000") + 14;
  // A is indented by the folding, B is not.
  const int sides = std::max(2, width - link - error);
  setColumnWidth(RowsModel::columnA, sides * 11 / 20);
  setColumnWidth(RowsModel::columnLink, link);
  setColumnWidth(RowsModel::columnB, sides - sides * 11 / 20);
  setColumnWidth(RowsModel::columnError, error);
}

void RowsView::announceRange() {
  if (!model_ || model_->rowCount() == 0) return;
  const int first = std::max(0, rowAt(0));
  int last = rowAt(viewport()->height() - 1);
  if (last < 0) last = model_->rowCount() - 1;
  emit rangeChanged(model_->pairAt(first), model_->pairAt(last));
}

}  // namespace ulpscope::gui
