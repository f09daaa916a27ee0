#include "gui/widgets/row_delegate.h"

#include <QAbstractItemView>
#include <QHeaderView>
#include <algorithm>
#include <cmath>

#include "gui/models/error_series.h"
#include "gui/models/format.h"

namespace ulpscope::gui {

struct RowDelegate::Context {
  QPainter& painter;
  const QStyleOptionViewItem& option;
  const RowsModel& model;
  RowsModel::Row row;
  const Pair* pair;  ///< nullptr for a heading
  const Theme& theme;
  bool selected;
  QRect rect() const { return option.rect; }
};

RowDelegate::RowDelegate(QObject* parent) : QStyledItemDelegate(parent) {}

int RowDelegate::rowHeight(const QFont& font) { return QFontMetrics(font).height() + 7; }

int RowDelegate::indent(const QFont& font, int depth) {
  return 10 + depth * QFontMetrics(font).averageCharWidth() * 2;
}

QSize RowDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return {80, rowHeight(option.font)};
}

void RowDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
  const auto* model = qobject_cast<const RowsModel*>(index.model());
  if (!model || !model->document()) return;
  const RowsModel::Row row = model->row(index.row());
  const Context at{*painter,
                   option,
                   *model,
                   row,
                   row.heading ? nullptr : &model->document()->pairs()[row.pair],
                   themeOf(option.palette),
                   row.heading ? bool(option.state & QStyle::State_Selected)
                               : row.pair == current_};
  painter->save();
  painter->setClipRect(option.rect);
  painter->setFont(option.font);
  if (row.heading) {
    paintHeading(at);
  } else {
    painter->fillRect(option.rect, at.theme.base);
    painter->fillRect(option.rect, at.theme.tint(at.pair->label));
    if (at.selected) {
      QColor wash = at.theme.accent;
      wash.setAlpha(at.theme.dark ? 60 : 40);
      painter->fillRect(option.rect, wash);
    }
    switch (index.column()) {
      case RowsModel::columnA: paintOp(at, SideName::a); break;
      case RowsModel::columnLink: paintLink(at); break;
      case RowsModel::columnB: paintOp(at, SideName::b); break;
      default: paintError(at); break;
    }
  }
  if (at.selected) {
    painter->setPen(at.theme.accent);
    if (row.line == 0) painter->drawLine(option.rect.topLeft(), option.rect.topRight());
    if (row.line + 1 == row.lines)
      painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
  }
  painter->restore();
}

void RowDelegate::paintHeading(const Context& at) const {
  const auto* view = qobject_cast<const QAbstractItemView*>(at.option.widget);
  QRect whole = at.rect();
  if (view) {
    whole.setLeft(0);
    whole.setRight(view->viewport()->width() - 1);
  }
  QPainter& p = at.painter;
  const FoldTree& tree = at.model.document()->tree;
  const FoldNode& node = tree.nodes[at.row.node];
  p.fillRect(whole, at.theme.heading);
  if (at.selected) {
    QColor wash = at.theme.accent;
    wash.setAlpha(at.theme.dark ? 60 : 40);
    p.fillRect(whole, wash);
  }
  const int height = whole.height();
  const int left = indent(at.option.font, at.row.depth);
  p.setRenderHint(QPainter::Antialiasing);
  p.setPen(Qt::NoPen);
  p.setBrush(at.theme.dim);
  const QPointF c(left + 4, whole.top() + height / 2.0);
  const QPointF open[] = {c + QPointF(-4, -2.5), c + QPointF(4, -2.5), c + QPointF(0, 3.5)};
  const QPointF closed[] = {c + QPointF(-2.5, -4), c + QPointF(3.5, 0), c + QPointF(-2.5, 4)};
  p.drawPolygon(at.row.collapsed ? closed : open, 3);

  const bool major = node.kind == FoldKind::step || node.kind == FoldKind::phase;
  const QFont font = scaledFont(at.option.font, 1.0, major);
  p.setFont(font);
  const QFontMetrics metrics(font);

  // What matters inside, at the right end, so that a folded heading still tells.
  QRect rest = whole.adjusted(left + 14, 0, -8, 0);
  const QFont small = scaledFont(at.option.font, 0.92);
  if (!at.model.document()->single) {
    for (Label label : {Label::propagated, Label::healed, Label::structural, Label::source,
                        Label::origin}) {
      const uint32_t count = node.labels[size_t(label)];
      if (count == 0) continue;
      const QString number = QString("%L1").arg(count);
      const int width = QFontMetrics(small).horizontalAdvance(number);
      p.setFont(small);
      p.setPen(at.theme.text);
      p.drawText(rest, Qt::AlignRight | Qt::AlignVCenter, number);
      rest.setRight(rest.right() - width - 4);
      const int size = height - 12;
      drawGlyph(p, QRectF(rest.right() - size, whole.top() + 6, size, size), label, at.theme);
      rest.setRight(rest.right() - size - 10);
    }
  }
  p.setFont(font);
  p.setPen(at.theme.text);
  const QString title = metrics.elidedText(foldTitle(tree, node), Qt::ElideMiddle, rest.width());
  p.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter, title);
  rest.setLeft(rest.left() + metrics.horizontalAdvance(title) + 8);
  QString detail = foldDetail(tree, node);
  if (!detail.isEmpty()) detail += ", ";
  detail += QString("%L1 %2").arg(node.end - node.first).arg(node.end - node.first == 1 ? "op" : "ops");
  p.setFont(small);
  p.setPen(at.theme.dim);
  p.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter,
             QFontMetrics(small).elidedText(detail, Qt::ElideRight, rest.width()));
}

void RowDelegate::paintOp(const Context& at, SideName which) const {
  QPainter& p = at.painter;
  QRect rect = at.rect();
  const Op* op = at.model.op(at.row, which);
  const bool gap = (which == SideName::a ? at.pair->countA : at.pair->countB) == 0;
  if (which == SideName::a && at.pair->label != Label::identical)
    p.fillRect(QRect(rect.left(), rect.top(), 4, rect.height()), at.theme.label(at.pair->label));
  if (gap && !at.model.document()->single) {
    QColor hatch = at.theme.label(at.pair->label);
    hatch.setAlpha(110);
    p.fillRect(rect.adjusted(which == SideName::a ? 6 : 2, 3, -4, -3),
               QBrush(hatch, Qt::BDiagPattern));
    return;
  }
  if (!op) return;
  rect.adjust(which == SideName::a ? indent(at.option.font, at.row.depth) : 6, 0, -6, 0);
  const bool starts = importance(at.pair->label) >= importance(Label::structural) &&
                      at.row.line == at.row.decisive;
  const QFont font = scaledFont(at.option.font, 1.0, starts);
  const QFontMetrics metrics(font);

  if (op->kind == OpKind::kernel || op->kind == OpKind::compiled) {  // a chip: this is compiled
    const int size = rect.height() - 10;
    const QRectF chip(rect.left(), rect.top() + 5, size, size);
    p.setRenderHint(QPainter::Antialiasing);
    p.setPen(QPen(at.theme.accent, 1.2));
    p.setBrush(Qt::NoBrush);
    p.drawRoundedRect(chip, 2, 2);
    p.drawRoundedRect(chip.adjusted(3, 3, -3, -3), 1, 1);
    rect.setLeft(rect.left() + size + 5);
  }
  const auto marks = std::binary_search(bookmarks_.begin(), bookmarks_.end(), at.row.pair);
  if (which == SideName::a && (marks || marked_ == at.row.pair) && at.row.line == 0) {
    p.setFont(scaledFont(at.option.font, 0.9, true));
    p.setPen(at.theme.accent);
    const QString mark = marked_ == at.row.pair ? "marked" : "note";
    p.drawText(rect, Qt::AlignRight | Qt::AlignVCenter, mark);
    rect.setRight(rect.right() - p.fontMetrics().horizontalAdvance(mark) - 8);
  }
  const bool quiet = at.pair->label == Label::identical && !at.model.document()->single;
  const QString title = at.model.opText(at.row, which);
  const QString note = at.model.opNote(at.row, which);
  p.setFont(font);
  p.setPen(quiet ? (at.theme.dark ? QColor("#b4bcc5") : QColor("#4a535d")) : at.theme.text);
  const QString shown = metrics.elidedText(title, Qt::ElideMiddle, rect.width());
  p.drawText(rect, Qt::AlignLeft | Qt::AlignVCenter, shown);
  rect.setLeft(rect.left() + metrics.horizontalAdvance(shown) + 12);
  const QFont small = scaledFont(at.option.font, 0.9);
  if (rect.width() < QFontMetrics(small).averageCharWidth() * 6) return;
  p.setFont(small);
  p.setPen(at.theme.dim);
  p.drawText(rect, Qt::AlignRight | Qt::AlignVCenter,
             QFontMetrics(small).elidedText(note, Qt::ElideLeft, rect.width()));
}

void RowDelegate::paintLink(const Context& at) const {
  if (at.model.document()->single) return;
  QPainter& p = at.painter;
  const QRect rect = at.rect();
  const Pair& pair = *at.pair;
  const int last = at.row.lines - 1;
  if (last > 0) {  // a bracket around the side with several ops, its point at the other side
    p.setRenderHint(QPainter::Antialiasing, false);
    p.setPen(QPen(at.theme.accent, 2));
    const auto bracket = [&](int x, int direction) {
      const int top = at.row.line == 0 ? rect.top() + 4 : rect.top();
      const int bottom = at.row.line == last ? rect.bottom() - 4 : rect.bottom() + 1;
      p.drawLine(x, top, x, bottom);
      if (at.row.line == 0) p.drawLine(x, top, x - direction * 5, top);
      if (at.row.line == last) p.drawLine(x, bottom, x - direction * 5, bottom);
      if (at.row.line == at.row.decisive) p.drawLine(x, rect.center().y(), x + direction * 5, rect.center().y());
    };
    if (pair.countA > 1) bracket(rect.left() + 7, 1);
    if (pair.countB > 1) bracket(rect.right() - 7, -1);
  }
  if (at.row.line != at.row.decisive) return;
  const int size = std::min(rect.height() - 8, 15);
  drawGlyph(p, QRectF(rect.center().x() - size / 2.0 + 1, rect.center().y() - size / 2.0 + 1, size, size),
            pair.label, at.theme);
}

void RowDelegate::paintError(const Context& at) const {
  if (at.model.document()->single || at.row.line != at.row.decisive) return;
  const Pair& pair = *at.pair;
  if (pair.label == Label::identical) return;
  QPainter& p = at.painter;
  const QRect rect = at.rect().adjusted(4, 0, -6, 0);
  if (pair.error > 0 && std::isfinite(pair.error)) {
    // From 1e-9 to 10 on a log scale: the eye compares rows before it reads figures.
    const double share = std::clamp((std::log10(double(pair.error)) + 9) / 10, 0.02, 1.0);
    const int width = int(share * rect.width());
    QColor bar = at.theme.label(pair.label);
    bar.setAlpha(at.theme.dark ? 150 : 130);
    p.fillRect(QRect(rect.right() - width, rect.bottom() - 3, width, 3), bar);
  }
  const QString text = pair.label == Label::structural && std::isnan(pair.error)
                           ? QString()
                           : errorText(pair.error);
  p.setFont(scaledFont(at.option.font, 0.95, importance(pair.label) >= importance(Label::structural)));
  p.setPen(at.theme.text);
  p.drawText(rect.adjusted(0, 0, 0, -2), Qt::AlignRight | Qt::AlignVCenter, text);
}

}  // namespace ulpscope::gui
