#include "gui/models/details_model.h"

#include <cmath>
#include <algorithm>
#include <optional>

#include "gui/models/format.h"

namespace ulpscope::gui {
namespace {

/// One operand of one side, with what is known of its value.
struct View {
  const Side* side = nullptr;
  const Op* op = nullptr;
  const Operand* operand = nullptr;
  const TensorType* type = nullptr;
  std::optional<Fingerprint> fingerprint;
};

View viewOf(const Side& side, int64_t op, int64_t operand) {
  View view;
  if (op < 0 || operand < 0) return view;
  view.side = &side;
  view.op = &side.ops.ops[size_t(op)];
  view.operand = &side.ops.operands[size_t(operand)];
  view.type = &side.reader->type(view.operand->type);
  if (view.operand->fingerprint) view.fingerprint = side.reader->fingerprint(view.operand->fingerprint);
  return view;
}

QString valueText(const View& view) {
  if (!view.operand) return QString(QChar(0x2014));
  QString text = typeText(*view.type);
  if (!view.fingerprint) {
    const auto reason = name(view.operand->skip);
    text += " (not fingerprinted: " + QString::fromUtf8(reason.data(), qsizetype(reason.size())) + ")";
  }
  return text;
}

QString distanceText(const Comparison& comparison) {
  if (comparison.identical) return "identical";
  if (comparison.countsDiffer) return "NaN or infinity on one side";
  if (!comparison.distanceKnown) return "differs";
  if (comparison.distance == 0) return "differs below the sketch's resolution";
  QString text = errorText(float(comparison.relative));
  const QString ulps = ulpText(float(comparison.ulp));
  return ulps.isEmpty() ? text : text + ", " + ulps;
}

}  // namespace

DetailsModel::DetailsModel(QObject* parent) : QAbstractItemModel(parent) {}

void DetailsModel::setPair(std::shared_ptr<const Document> document, uint32_t pair) {
  beginResetModel();
  document_ = std::move(document);
  pair_ = document_ && pair < document_->pairs().size() ? pair : kNoPair;
  items_.clear();
  top_.clear();
  if (pair_ != kNoPair) {
    const Pair& at = document_->pairs()[pair_];
    auto matches = matchOperands(*document_, at);
    // What decided comes first, then what differs, what agrees, and what has no counterpart.
    const auto rank = [&](const OperandMatch& match) {
      if (match.a >= 0 && match.b >= 0 && (match.a == at.operandA || match.b == at.operandB)) return 0;
      if (match.equality == Equality::unequal) return 1;
      return match.a >= 0 && match.b >= 0 ? 2 : 3;
    };
    std::stable_sort(matches.begin(), matches.end(),
                     [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
    addOperands(true, matches);
    addOperands(false, matches);
    addArguments(at);
    addFacts(at);
  }
  endResetModel();
}

int DetailsModel::add(int parent, const QString& name, const QString& a, const QString& b,
                      const QString& difference, bool differs) {
  const int index = int(items_.size());
  auto& siblings = parent < 0 ? top_ : items_[size_t(parent)].children;
  Item item{parent, int(siblings.size()), {name, a, b, difference}, differs, false, false, {}};
  siblings.push_back(index);
  items_.push_back(std::move(item));
  return index;
}

void DetailsModel::compareTexts(int parent, const QString& name, const QString& a,
                                const QString& b) {
  const bool differs = !document_->single && !a.isEmpty() && !b.isEmpty() && a != b;
  add(parent, name, a, b, differs ? "differs" : "", differs);
}

int DetailsModel::section(const QString& name) {
  const int index = add(-1, name);
  items_[size_t(index)].section = true;
  return index;
}

void DetailsModel::addOperands(bool written, const std::vector<OperandMatch>& matches) {
  int top = -1;
  QString opBefore;
  int parent = -1;
  for (const OperandMatch& match : matches) {
    if (match.written != written) continue;
    if (top < 0) parent = top = section(written ? "Written" : "Inputs");
    const View a = viewOf(document_->result.a, match.opA, match.a);
    const View b = viewOf(document_->result.b, match.opB, match.b);
    const View& shown = a.operand ? a : b;
    QString title = operandName(*shown.side, *shown.op, *shown.operand);
    const Pair& pair = document_->pairs()[pair_];
    const bool group = (a.operand ? pair.countA : pair.countB) > 1;
    if (group) {  // the op has a line of its own, for its name and an operand's need one each
      const QString op = opTitle(*shown.side, *shown.op) + QString("  #%1").arg(shown.op->id.value);
      if (op != opBefore) {
        parent = add(top, op);
        items_[size_t(parent)].op = true;
      }
      opBefore = op;
    }
    QString difference;
    bool differs = false;
    if (a.operand && b.operand) {
      if (a.fingerprint && b.fingerprint)
        difference = distanceText(
            compare(*a.fingerprint, a.type->dtype, *b.fingerprint, b.type->dtype));
      differs = match.equality == Equality::unequal || a.type->sizes != b.type->sizes ||
                a.type->dtype != b.type->dtype;
      if (difference.isEmpty()) difference = "not comparable";
    } else if (!document_->single) {
      // A value that a kernel keeps to itself is fused away: there is nothing to compare it with.
      const bool fused = written && group && pair.countA != 0 && pair.countB != 0;
      difference = fused       ? "fused away"
                   : a.operand ? "no counterpart in B"
                               : "no counterpart in A";
    }
    const int item = add(parent, title, valueText(a), document_->single ? "" : valueText(b),
                         difference, differs);
    addStatistics(item, match);
  }
}

void DetailsModel::addStatistics(int item, const OperandMatch& match) {
  const View a = viewOf(document_->result.a, match.opA, match.a);
  const View b = viewOf(document_->result.b, match.opB, match.b);
  const auto both = [&](const QString& name, auto value) {
    compareTexts(item, name, a.operand ? value(a) : QString(), b.operand ? value(b) : QString());
  };
  both("strides", [](const View& view) { return stridesText(*view.type); });
  if ((a.operand && a.operand->flags & kParameter) || (b.operand && b.operand->flags & kParameter))
    both("parameter", [](const View& view) {
      return QString(view.operand->flags & kParameter ? "yes" : "no");
    });
  both("device", [](const View& view) { return text(view.type->device); });
  if (a.fingerprint || b.fingerprint)
    both("digest", [](const View& view) {
      return view.fingerprint ? digestText(view.fingerprint->digest) : QString();
    });
  const auto statistic = [&](const QString& name, auto value) {
    const bool known = (a.fingerprint && a.fingerprint->level >= Level::statistics) ||
                       (b.fingerprint && b.fingerprint->level >= Level::statistics);
    if (!known) return;
    both(name, [&](const View& view) {
      const bool has = view.fingerprint && view.fingerprint->level >= Level::statistics;
      return has ? value(view.fingerprint->statistics) : QString();
    });
  };
  using S = const Statistics&;
  statistic("min", [](S s) { return numberText(s.min); });
  statistic("max", [](S s) { return numberText(s.max); });
  statistic("mean", [](S s) {
    const uint64_t finite = s.components - s.nan - s.positiveInfinity - s.negativeInfinity;
    return finite ? numberText(s.sum / double(finite)) : QString();
  });
  statistic("L1 norm", [](S s) { return numberText(s.l1); });
  statistic("L2 norm", [](S s) { return numberText(std::sqrt(s.sumSquares)); });
  statistic("NaN", [](S s) { return QString::number(s.nan); });
  statistic("infinities", [](S s) {
    return QString("+%1, -%2").arg(s.positiveInfinity).arg(s.negativeInfinity);
  });
  statistic("zeros", [](S s) {
    return QString("%1, %2 of them -0").arg(s.zero).arg(s.negativeZero);
  });
  statistic("subnormal", [](S s) { return QString::number(s.subnormal); });
}

const Op* DetailsModel::firstOp(const Pair& pair, SideName which) const {
  const auto members = document_->members(pair, which);
  return members.empty() ? nullptr : &document_->side(which).ops.ops[members[0]];
}

void DetailsModel::addArguments(const Pair& pair) {
  struct Row {
    QString name, a, b;
  };
  std::vector<Row> rows;
  for (SideName which : {SideName::a, SideName::b}) {
    const Side& side = document_->side(which);
    for (uint32_t index : document_->members(pair, which)) {
      const Op& op = side.ops.ops[index];
      const Schema& schema = side.reader->schema(op.schema);
      for (const Scalar& scalar : side.reader->scalars(op.scalars)) {
        QString name = scalar.arg >= 0 && size_t(scalar.arg) < schema.arguments.size()
                           ? text(schema.arguments[size_t(scalar.arg)])
                           : QString("arg %1").arg(scalar.arg);
        if (document_->members(pair, which).size() > 1) name = opTitle(side, op) + ": " + name;
        const QString value = text(scalar.text);
        if (which == SideName::b) {
          const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
            return row.name == name && row.b.isEmpty();
          });
          if (same != rows.end()) {
            same->b = value;
            continue;
          }
        }
        rows.push_back(which == SideName::a ? Row{name, value, {}} : Row{name, {}, value});
      }
    }
  }
  if (rows.empty()) return;
  const int parent = section("Scalar arguments");
  for (const Row& row : rows) compareTexts(parent, row.name, row.a, row.b);
}

void DetailsModel::addFacts(const Pair& pair) {
  const int parent = section("Op");
  const Op* a = firstOp(pair, SideName::a);
  const Op* b = firstOp(pair, SideName::b);
  const auto both = [&](const QString& name, auto value) {
    add(parent, name, a ? value(document_->result.a, *a) : QString(),
        b ? value(document_->result.b, *b) : QString());
  };
  both("name", [](const Side& side, const Op& op) {
    return text(side.reader->schema(op.schema).qualified());
  });
  both("number", [](const Side&, const Op& op) { return QString::number(op.id.value); });
  both("module", [](const Side& side, const Op& op) {
    const auto [module, type] = side.reader->module(op);
    return type.empty() ? text(module) : text(module) + " (" + text(type) + ")";
  });
  both("place", [](const Side&, const Op& op) {
    const auto phase = name(op.phase);
    return QString("step %1, %2, thread %3")
        .arg(op.step)
        .arg(QString::fromUtf8(phase.data(), qsizetype(phase.size())))
        .arg(op.thread);
  });
  if (document_->single) return;
  const auto method = name(pair.method);
  add(parent, "paired by", QString::fromUtf8(method.data(), qsizetype(method.size())),
      QString("confidence %1").arg(double(pair.confidence), 0, 'f', 2));
  if (pair.label != Label::identical)
    add(parent, "error", "inherited " + errorText(pair.inherited), "result " + errorText(pair.error),
        ulpText(pair.ulp));
}

QModelIndex DetailsModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  const auto& siblings = parent.isValid() ? items_[size_t(parent.internalId())].children : top_;
  return createIndex(row, column, quintptr(siblings[size_t(row)]));
}

QModelIndex DetailsModel::parent(const QModelIndex& child) const {
  if (!child.isValid()) return {};
  const int parent = items_[size_t(child.internalId())].parent;
  return parent < 0 ? QModelIndex()
                    : createIndex(items_[size_t(parent)].row, 0, quintptr(parent));
}

int DetailsModel::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return int(top_.size());
  if (parent.column() != 0) return 0;
  return int(items_[size_t(parent.internalId())].children.size());
}

int DetailsModel::columnCount(const QModelIndex&) const { return kColumns; }

QVariant DetailsModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Item& item = items_[size_t(index.internalId())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole: return item.texts[index.column()];
    case DiffersRole: return item.differs;
    case SectionRole: return item.section;
    case OpRole: return item.op;
    default: return {};
  }
}

QVariant DetailsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  static const char* const titles[kColumns] = {"", "A", "B", "difference"};
  return section >= 0 && section < kColumns ? QVariant(titles[section]) : QVariant();
}

}  // namespace ulpscope::gui
