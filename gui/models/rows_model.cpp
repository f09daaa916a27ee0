#include "gui/models/rows_model.h"

#include <algorithm>

#include "gui/models/format.h"

namespace ulpscope::gui {

RowsModel::RowsModel(QObject* parent) : QAbstractTableModel(parent) {}

void RowsModel::setDocument(std::shared_ptr<const Document> document, bool grown) {
  beginResetModel();
  const size_t nodes = document ? document->tree.nodes.size() : 0;
  if (!grown) collapsed_.clear();
  collapsed_.resize(nodes, 0);
  document_ = std::move(document);
  rebuild();
  endResetModel();
}

void RowsModel::setFilter(Filter filter) {
  beginResetModel();
  filter_ = std::move(filter);
  rebuild();
  endResetModel();
}

/// A heading over a single line says no more than the line itself: the line shows the name instead.
bool RowsModel::elided(const FoldNode& node) const {
  return node.leaf && node.end - node.first == 1 &&
         (node.kind == FoldKind::module || node.kind == FoldKind::region) &&
         linesOf(node.first) == 1;
}

int RowsModel::linesOf(uint32_t pair) const {
  const Pair& at = document_->pairs()[pair];
  return std::max({int(at.countA), int(at.countB), 1});
}

void RowsModel::rebuild() {
  rows_.clear();
  visiblePairs_ = 0;
  if (!document_) return;
  const FoldTree& tree = document_->tree;
  const uint32_t count = uint32_t(document_->pairs().size());
  const bool filtered = !filter_.empty();
  const FilterMatcher matcher(*document_, filter_);
  rows_.reserve(filtered ? 1024 : count + tree.nodes.size());

  std::vector<uint32_t> open;    // nodes with a heading above the current row
  std::vector<uint32_t> wanted;  // nodes from the root to the pair
  uint32_t last = 0;             // node of the pair before
  for (uint32_t pair = 0; pair < count;) {
    if (filtered && !matcher.matches(pair)) {
      ++pair;
      continue;
    }
    const uint32_t node = tree.nodeOfPair[pair];
    uint32_t hidden = 0;  // the collapsed node that the pair is in
    if (node != last || open.empty()) {
      wanted.clear();
      for (uint32_t at = node; at != 0; at = tree.nodes[at].parent) wanted.push_back(at);
      std::reverse(wanted.begin(), wanted.end());
      size_t common = 0;
      while (common < open.size() && common < wanted.size() && open[common] == wanted[common])
        ++common;
      open.resize(common);
      for (size_t i = common; i < wanted.size(); ++i) {
        open.push_back(wanted[i]);
        if (!elided(tree.nodes[wanted[i]])) rows_.push_back({wanted[i], kHeading});
        if (collapsed_[wanted[i]] && !elided(tree.nodes[wanted[i]])) {
          hidden = wanted[i];
          break;
        }
      }
    }
    last = node;
    if (hidden != 0) {
      pair = tree.nodes[hidden].end;
      last = 0;
      continue;
    }
    const int lines = linesOf(pair);
    for (int line = 0; line < lines; ++line) rows_.push_back({pair, uint32_t(line)});
    ++visiblePairs_;
    ++pair;
  }
}

int RowsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(rows_.size());
}

int RowsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(kColumns);
}

RowsModel::Row RowsModel::row(int index) const {
  Row row;
  if (index < 0 || size_t(index) >= rows_.size()) return row;
  const Entry& entry = rows_[size_t(index)];
  const FoldTree& tree = document_->tree;
  row.heading = entry.line == kHeading;
  if (row.heading) {
    row.node = entry.index;
    row.depth = tree.nodes[row.node].depth - 1;
    row.collapsed = collapsed_[row.node] != 0;
    return row;
  }
  row.pair = entry.index;
  row.node = tree.nodeOfPair[row.pair];
  row.line = uint16_t(entry.line);
  row.lines = uint16_t(linesOf(row.pair));
  row.decisive = row.lines > 1 ? uint16_t(decisiveLine(row.pair)) : 0;
  row.depth = tree.nodes[row.node].depth - (elided(tree.nodes[row.node]) ? 1 : 0);
  return row;
}

const Op* RowsModel::op(const Row& row, SideName which) const {
  if (row.heading || row.pair == kNoPair) return nullptr;
  const auto members = document_->members(document_->pairs()[row.pair], which);
  // The shorter side stands beside the op that decided: a kernel next to the one op that it computes
  // differently, among all that it came from.
  const size_t skip = members.empty() ? 0 : std::min<size_t>(row.decisive, row.lines - members.size());
  if (row.line < skip || row.line - skip >= members.size()) return nullptr;
  return &document_->side(which).ops.ops[members[row.line - skip]];
}

QString RowsModel::opText(const Row& row, SideName which) const {
  const Op* at = op(row, which);
  return at ? opTitle(document_->side(which), *at) : QString();
}

QString RowsModel::opNote(const Row& row, SideName which) const {
  const Op* at = op(row, which);
  if (!at) return {};
  const Side& side = document_->side(which);
  QString note = resultText(side, *at);
  if (at->kind == OpKind::kernel && at->provenance) {
    const size_t fused = side.reader->provenance(at->provenance).sources.size();
    if (fused > 1) note = QString("fuses %L1 ops").arg(fused);
  }
  const FoldNode& node = document_->tree.nodes[row.node];
  if (elided(node) && which == SideName::a)
    note = shortTitle(document_->tree, node) + (note.isEmpty() ? "" : "  ") + note;
  return note;
}

QString RowsModel::headingSummary(uint32_t node) const {
  const FoldNode& at = document_->tree.nodes[node];
  QStringList parts{QString("%L1 %2").arg(at.end - at.first).arg(at.end - at.first == 1 ? "op" : "ops")};
  if (document_->single) return parts[0];
  for (Label label : {Label::origin, Label::structural, Label::source, Label::propagated,
                      Label::healed, Label::opaque})
    if (const uint32_t count = at.labels[size_t(label)])
      parts << QString("%L1 %2").arg(count).arg(labelText(label));
  return parts.join(", ");
}

int RowsModel::decisiveLine(uint32_t pair) const {
  return document_ && pair < document_->pairs().size() ? int(decisiveMember(*document_, pair)) : 0;
}

uint32_t RowsModel::headingAbove(const Row& row) const {
  const FoldNode& node = document_->tree.nodes[row.node];
  return row.heading || elided(node) ? node.parent : row.node;
}

QVariant RowsModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Row at = row(index.row());
  const Pair* pair = at.heading ? nullptr : &document_->pairs()[at.pair];
  switch (role) {
    case PairRole: return at.heading ? QVariant() : QVariant(at.pair);
    case LineRole: return at.heading ? QVariant() : QVariant(int(at.line));
    case NodeRole: return at.node;
    case LabelRole: return pair ? QVariant(int(pair->label)) : QVariant();
    case Qt::ToolTipRole:
      if (!pair || document_->single) return placeText(document_->tree, at.node);
      return QString("%1\n%2: %3").arg(placeText(document_->tree, at.node),
                                       labelText(pair->label), labelMeaning(pair->label));
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: break;
    default: return {};
  }
  if (at.heading) {
    if (index.column() == columnA) return foldTitle(document_->tree, document_->tree.nodes[at.node]);
    if (index.column() == columnB) return headingSummary(at.node);
    return {};
  }
  switch (index.column()) {
    case columnA: return opText(at, SideName::a);
    case columnB: return opText(at, SideName::b);
    case columnLink:
      return document_->single || at.line != at.decisive ? QVariant() : QVariant(labelText(pair->label));
    case columnError:
      if (document_->single || at.line != at.decisive || pair->label == Label::identical) return {};
      return errorText(pair->error);
    default: return {};
  }
}

QVariant RowsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case columnA: return document_ ? sideTitle(*document_, SideName::a) : "A";
    case columnB: return document_ ? sideTitle(*document_, SideName::b) : "B";
    case columnError: return "error";
    default: return QString();
  }
}

void RowsModel::setCollapsed(uint32_t node, bool collapsed) {
  if (node >= collapsed_.size() || (collapsed_[node] != 0) == collapsed) return;
  beginResetModel();
  collapsed_[node] = collapsed ? 1 : 0;
  rebuild();
  endResetModel();
}

void RowsModel::collapseFrom(FoldKind kind) {
  if (!document_) return;
  beginResetModel();
  const auto& nodes = document_->tree.nodes;
  for (size_t i = 1; i < nodes.size(); ++i) collapsed_[i] = nodes[i].kind >= kind;
  rebuild();
  endResetModel();
}

void RowsModel::expandAll() {
  beginResetModel();
  std::fill(collapsed_.begin(), collapsed_.end(), 0);
  rebuild();
  endResetModel();
}

uint32_t RowsModel::firstPair(const Entry& entry) const {
  return entry.line == kHeading ? document_->tree.nodes[entry.index].first : entry.index;
}

int RowsModel::rowOf(uint32_t pair, int line) const {
  // Rows are in order of pairs, but a heading's first pair may be filtered out: headings count as
  // before every pair inside them, which keeps the order.
  const auto at = std::partition_point(rows_.begin(), rows_.end(), [&](const Entry& entry) {
    if (entry.line == kHeading) return document_->tree.nodes[entry.index].first <= pair;
    return entry.index < pair || (entry.index == pair && int(entry.line) < line);
  });
  if (at == rows_.end() || at->line == kHeading || at->index != pair) return -1;
  return int(at - rows_.begin());
}

bool RowsModel::reveal(uint32_t pair) {
  if (!document_ || pair >= document_->pairs().size()) return false;
  if (!filter_.empty() && !FilterMatcher(*document_, filter_).matches(pair)) return false;
  const FoldTree& tree = document_->tree;
  bool changed = false;
  for (uint32_t node = tree.nodeOfPair[pair]; node != 0; node = tree.nodes[node].parent)
    changed = changed || collapsed_[node];
  if (!changed) return true;
  beginResetModel();
  for (uint32_t node = tree.nodeOfPair[pair]; node != 0; node = tree.nodes[node].parent)
    collapsed_[node] = 0;
  rebuild();
  endResetModel();
  return true;
}

uint32_t RowsModel::pairAt(int row) const {
  if (row < 0 || size_t(row) >= rows_.size()) return kNoPair;
  return firstPair(rows_[size_t(row)]);
}

}  // namespace ulpscope::gui
