#include "gui/widgets/row_delegate.h"

#include <QAbstractItemView>
#include <algorithm>
#include <cmath>

#include "gui/models/error_series.h"
#include "gui/models/format.h"
#include "gui/widgets/name_fitter.h"

namespace ulpscope::gui {

/// Faces of one font, made once: a font that is made for each cell costs more than its text.
struct RowDelegate::Fonts {
  explicit Fonts(const QFont& font)
      : base(font), normal(font), bold(scaledFont(font, 1.0, true)), small(scaledFont(font, 0.9)),
        tag(scaledFont(font, 0.85, true)) {}
  QFont base;
  NameFitter normal, bold, small, tag;
};

struct RowDelegate::Context {
  QPainter& painter;
  const QStyleOptionViewItem& option;
  const RowsModel& model;
  RowsModel::Row row;
  const Pair* pair;  ///< nullptr for a heading
  const Theme& theme;
  Fonts& fonts;
  bool selected;
  QRect rect() const { return option.rect; }
};

RowDelegate::RowDelegate(QObject* parent) : QStyledItemDelegate(parent) {}
RowDelegate::~RowDelegate() = default;

int RowDelegate::rowHeight(const QFont& font) { return QFontMetrics(font).height() + 7; }

int RowDelegate::indent(int depth) { return 10 + depth * 10; }

QSize RowDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return {80, rowHeight(option.font)};
}

RowDelegate::Fonts& RowDelegate::fonts(const QFont& font) const {
  if (!fonts_ || fonts_->base != font) fonts_ = std::make_unique<Fonts>(font);
  return *fonts_;
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
                   fonts(option.font),
                   row.heading ? bool(option.state & QStyle::State_Selected)
                               : row.pair == current_};
  painter->save();
  painter->setClipRect(option.rect);
  if (row.heading) {
    paintHeading(at);
  } else {
    painter->fillRect(option.rect, at.theme.base);
    painter->fillRect(option.rect, at.theme.tint(at.pair->label));
    if (at.selected && !at.theme.tint(at.pair->label).alpha())
      painter->fillRect(option.rect, at.theme.chosen());
    switch (index.column()) {
      case RowsModel::columnA: paintOp(at, SideName::a); break;
      case RowsModel::columnLink: paintLink(at); break;
      case RowsModel::columnB: paintOp(at, SideName::b); break;
      default: paintError(at); break;
    }
  }
  if (at.selected) {  // a frame around all lines of what is chosen
    painter->setRenderHint(QPainter::Antialiasing, false);
    const QRect& r = option.rect;
    const auto edge = [&](int x, int y, int width, int height) {
      painter->fillRect(x, y, width, height, at.theme.accent);
    };
    if (row.line == 0) edge(r.left(), r.top(), r.width(), 2);
    if (row.line + 1 == row.lines) edge(r.left(), r.bottom() - 1, r.width(), 2);
    if (index.column() == RowsModel::columnA) edge(r.left(), r.top(), 2, r.height());
    if (index.column() == RowsModel::columnError ||
        (model->document()->single && index.column() == RowsModel::columnA))
      edge(r.right() - 1, r.top(), 2, r.height());
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
  if (at.selected) p.fillRect(whole, at.theme.chosen());
  const int height = whole.height();
  const int left = indent(at.row.depth);
  p.setRenderHint(QPainter::Antialiasing);
  p.setPen(Qt::NoPen);
  p.setBrush(at.theme.dim);
  const QPointF c(left + 4, whole.top() + height / 2.0);
  const QPointF open[] = {c + QPointF(-4, -2.5), c + QPointF(4, -2.5), c + QPointF(0, 3.5)};
  const QPointF closed[] = {c + QPointF(-2.5, -4), c + QPointF(3.5, 0), c + QPointF(-2.5, 4)};
  p.drawPolygon(at.row.collapsed ? closed : open, 3);

  // What matters inside, at the right end, so that a folded heading still tells.
  QRect rest = whole.adjusted(left + 14, 0, -8, 0);
  if (!at.model.document()->single) {
    for (Label label : {Label::propagated, Label::healed, Label::structural, Label::source,
                        Label::origin}) {
      const uint32_t count = node.labels[size_t(label)];
      if (count == 0) continue;
      p.setPen(at.theme.text);
      const int width = at.fonts.small.drawRight(p, rest, QString("%L1").arg(count));
      rest.setRight(rest.right() - width - 4);
      const int size = height - 12;
      drawGlyph(p, QRectF(rest.right() - size, whole.top() + 6, size, size), label, at.theme);
      rest.setRight(rest.right() - size - 10);
    }
  }
  const bool major = node.kind == FoldKind::step || node.kind == FoldKind::phase;
  p.setPen(at.theme.text);
  NameFitter& titles = major ? at.fonts.bold : at.fonts.normal;
  rest.setLeft(rest.left() + titles.draw(p, rest, foldTitle(tree, node)) + 8);
  const uint32_t ops = node.end - node.first;
  const QString count = QString("%L1 %2").arg(ops).arg(ops == 1 ? "op" : "ops");
  QString detail = foldDetail(tree, node);
  detail = detail.isEmpty() ? count : detail + ", " + count;
  p.setPen(at.theme.dim);
  if (at.fonts.small.width(detail) > rest.width()) detail = count;
  if (at.fonts.small.width(detail) <= rest.width()) at.fonts.small.draw(p, rest, detail);
}

int RowDelegate::paintTags(const Context& at, const QRect& box) const {
  QPainter& p = at.painter;
  int taken = 0;
  const auto tag = [&](const QString& text, const QColor& back, const QColor& front) {
    const int width = at.fonts.tag.width(text) + 12;
    const QRect pill(box.right() - taken - width, box.top() + 3, width, box.height() - 6);
    p.setRenderHint(QPainter::Antialiasing);
    p.setPen(Qt::NoPen);
    p.setBrush(back);
    p.drawRoundedRect(pill, pill.height() / 2.0, pill.height() / 2.0);
    p.setPen(front);
    at.fonts.tag.draw(p, pill.adjusted(6, 0, 0, 0), text);
    taken += width + 6;
  };
  const bool starts = !at.model.document()->single &&
                      importance(at.pair->label) >= importance(Label::structural);
  if (starts && at.row.line == at.row.decisive)
    tag(labelText(at.pair->label), at.theme.label(at.pair->label), at.theme.onLabel());
  if (at.row.line != 0) return taken;
  if (marked_ == at.row.pair) tag("marked", at.theme.accent, at.theme.onLabel());
  if (std::binary_search(bookmarks_.begin(), bookmarks_.end(), at.row.pair))
    tag("note", at.theme.faint, at.theme.text);
  return taken;
}

void RowDelegate::paintOp(const Context& at, SideName which) const {
  QPainter& p = at.painter;
  QRect rect = at.rect();
  const bool single = at.model.document()->single;
  const Op* op = at.model.op(at.row, which);
  const bool gap = (which == SideName::a ? at.pair->countA : at.pair->countB) == 0;
  if (which == SideName::a && at.pair->label != Label::identical)
    p.fillRect(QRect(rect.left(), rect.top(), 4, rect.height()), at.theme.label(at.pair->label));
  if (gap && !single) {
    QColor hatch = at.theme.label(at.pair->label);
    hatch.setAlpha(110);
    p.fillRect(rect.adjusted(which == SideName::a ? 6 : 2, 3, -4, -3),
               QBrush(hatch, Qt::BDiagPattern));
    return;
  }
  if (!op) return;
  rect.adjust(which == SideName::a ? indent(at.row.depth) : 6, 0, -6, 0);
  const bool tagsHere = which == SideName::a || at.pair->countA == 0;
  if (tagsHere) rect.setRight(rect.right() - paintTags(at, rect));

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
  const bool starts = importance(at.pair->label) >= importance(Label::structural) &&
                      at.row.line == at.row.decisive;
  const bool quiet = at.pair->label == Label::identical && !single;
  p.setPen(quiet ? at.theme.quiet() : at.theme.text);
  NameFitter& titles = starts ? at.fonts.bold : at.fonts.normal;
  rect.setLeft(rect.left() +
               titles.draw(p, rect, opShortTitle(at.model.document()->side(which), *op)) + 12);
  const QString note = at.model.opNote(at.row, which);
  if (at.fonts.small.width(note) > rect.width()) return;
  p.setPen(at.theme.dim);
  at.fonts.small.drawRight(p, rect, note);
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
      const int top = at.row.line == 0 ? rect.top() + 5 : rect.top();
      const int bottom = at.row.line == last ? rect.bottom() - 5 : rect.bottom() + 1;
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
    p.fillRect(QRect(rect.right() - width, rect.bottom() - 4, width, 3), bar);
  }
  const bool nothing = pair.label == Label::structural && std::isnan(pair.error);
  if (nothing) return;
  p.setPen(at.theme.text);
  NameFitter& figures =
      importance(pair.label) >= importance(Label::structural) ? at.fonts.bold : at.fonts.normal;
  figures.drawRight(p, rect.adjusted(0, 0, 0, -3), errorText(pair.error));
}

}  // namespace ulpscope::gui
