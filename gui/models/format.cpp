#include "gui/models/format.h"

#include <QStringList>
#include <algorithm>
#include <cmath>

#include "diff/render/format.h"

namespace ulpscope::gui {

QString text(const std::string& value) { return QString::fromStdString(value); }

QString labelText(Label label) {
  switch (label) {
    case Label::identical: return "identical";
    case Label::within: return "within tolerance";
    case Label::origin: return "starts here";
    case Label::propagated: return "carried on";
    case Label::healed: return "healed";
    case Label::structural: return "structure differs";
    case Label::source: return "source differs";
    case Label::opaque: return "not comparable";
  }
  return "?";
}

QString labelMeaning(Label label) {
  switch (label) {
    case Label::identical: return "Inputs and outputs are the same, bit for bit.";
    case Label::within: return "Differs, but inside the tolerance or the noise floor.";
    case Label::origin: return "Inputs agree and outputs do not: a difference starts in this op.";
    case Label::propagated: return "Inputs already differ: this op carries a difference on.";
    case Label::healed: return "Inputs differ and outputs agree again.";
    case Label::structural:
      return "No partner, or a partner of another kind, shape, dtype, stride or scalar argument.";
    case Label::source: return "Differs with no recorded producer: data, parameters or seeds.";
    case Label::opaque: return "Nothing to compare: no fingerprint on at least one side.";
  }
  return {};
}

QString errorText(float error) {
  if (std::isnan(error)) return "?";
  if (error == 0) return "0";
  if (std::isinf(error)) return QString(QChar(0x221E));
  return QString::number(double(error), 'e', 1);
}

QString ulpText(float ulp) {
  if (std::isnan(ulp) || std::isinf(ulp)) return {};
  if (ulp == 0) return "0 ulp";
  if (ulp < 0.01F) return "<0.01 ulp";
  return QString("%1 ulp").arg(double(ulp), 0, 'g', ulp < 1000 ? 3 : 2);
}

QString typeText(const TensorType& type) { return text(tensorText(type.dtype, type.sizes)); }

QString stridesText(const TensorType& type) {
  if (type.layout != Layout::strided) return "not strided";
  int64_t expected = 1;
  bool contiguous = type.strides.size() == type.sizes.size();
  for (size_t i = type.sizes.size(); contiguous && i-- > 0; expected *= type.sizes[i])
    contiguous = type.sizes[i] == 1 || type.strides[i] == expected;
  if (contiguous) return "contiguous";
  QStringList strides;
  for (int64_t stride : type.strides) strides << QString::number(stride);
  return "(" + strides.join(", ") + ")";
}

QString digestText(const Digest& digest) { return text(toHex(digest).substr(0, 12)); }

QString numberText(double value) {
  if (std::isinf(value)) return value > 0 ? "+inf" : "-inf";
  return QString::number(value, 'g', 6);
}

QString sideTitle(const Document& document, SideName which) {
  const auto tail = [](const Side& side, int parts) {
    return text(side.path).section('/', -parts);
  };
  const bool same = !document.single && tail(document.result.a, 1) == tail(document.result.b, 1);
  const QString name = tail(document.side(which), same ? 2 : 1);
  return document.single ? name : (which == SideName::a ? "A: " : "B: ") + name;
}

QString frameText(const Frame& frame) { return text(ulpscope::frameText(frame)); }

QString opFullTitle(const Side& side, const Op& op) {
  if (!side.reader) return {};
  const Schema& schema = side.reader->schema(op.schema);
  if (!schema.name.empty()) return text(schema.name);
  return QString("op %1").arg(op.id.value);
}

QString opTitle(const Side& side, const Op& op) {
  QString title = opFullTitle(side, op);
  for (const char* known : {"aten::", "inductor::"})
    if (title.startsWith(known)) title.remove(0, qsizetype(std::char_traits<char>::length(known)));
  return title;
}

QString opShortTitle(const Side& side, const Op& op) {
  const QString title = opTitle(side, op);
  if (op.kind != OpKind::kernel) return title;
  bool number = false;
  const QString last = title.section('_', -1);
  last.toUInt(&number);
  return number && title.contains("_fused_") ? "kernel " + last : title;
}

QString resultText(const Side& side, const Op& op) {
  for (const Operand& operand : side.ops.of(op))
    if (operand.role == Role::output || operand.role == Role::after)
      return typeText(side.reader->type(operand.type));
  return {};
}

QString operandName(const Side& side, const Op& op, const Operand& operand) {
  const Schema& schema = side.reader->schema(op.schema);
  const bool result = operand.role == Role::output;
  const auto& names = result ? schema.returns : schema.arguments;
  QString title;
  if (operand.arg >= 0 && size_t(operand.arg) < names.size()) title = text(names[operand.arg]);
  if (title.isEmpty()) title = QString(result ? "out %1" : "arg %1").arg(operand.arg);
  if (operand.item >= 0) title += QString("[%1]").arg(operand.item);
  if (operand.role == Role::before) title += " before";
  if (operand.role == Role::after) title += " after";
  return title;
}

QString foldTitle(const FoldTree& tree, const FoldNode& node) {
  const QString name = text(tree.nameOf(node));
  switch (node.kind) {
    case FoldKind::root: return "run";
    case FoldKind::step: return "step " + name;
    case FoldKind::phase: return name;
    case FoldKind::module: return name.isEmpty() ? text(tree.detailOf(node)) : name;
    case FoldKind::region: return name.isEmpty() ? text(tree.detailOf(node)) : name;
  }
  return name;
}

QString shortTitle(const FoldTree& tree, const FoldNode& node) {
  const QString title = foldTitle(tree, node);
  const QString parent = text(tree.nameOf(tree.nodes[node.parent])) + ".";
  return title.startsWith(parent) ? title.mid(parent.size()) : title;
}

QString foldDetail(const FoldTree& tree, const FoldNode& node) {
  const bool shown = node.kind == FoldKind::module || node.kind == FoldKind::region;
  return shown && !tree.nameOf(node).empty() ? text(tree.detailOf(node)) : QString();
}

QString placeText(const FoldTree& tree, uint32_t node) {
  QString step, phase, innermost;
  for (; node != 0; node = tree.nodes[node].parent) {
    const FoldNode& at = tree.nodes[node];
    QString& slot = at.kind == FoldKind::step    ? step
                    : at.kind == FoldKind::phase ? phase
                                                 : innermost;
    if (slot.isEmpty()) slot = foldTitle(tree, at);
  }
  QStringList parts{step, phase, innermost};
  parts.removeAll(QString());
  return parts.join(QString(" %1 ").arg(QChar(0x203A)));
}

uint32_t decisiveMember(const Document& document, uint32_t pair) {
  const Pair& at = document.pairs()[pair];
  const SideName longer = at.countA >= at.countB ? SideName::a : SideName::b;
  const int64_t operand = longer == SideName::a ? at.operandA : at.operandB;
  const auto members = document.members(at, longer);
  for (uint32_t i = 0; operand >= 0 && i < members.size(); ++i) {
    const Op& op = document.side(longer).ops.ops[members[i]];
    if (operand >= op.firstOperand && operand < int64_t(op.firstOperand) + op.operandCount) return i;
  }
  return 0;
}

namespace {

/// The op of A that decided, of B where A has none; and its side. Null in an empty pair.
std::pair<const Op*, SideName> decisiveOp(const Document& document, uint32_t pair) {
  for (SideName which : {SideName::a, SideName::b}) {
    const auto members = document.members(document.pairs()[pair], which);
    if (members.empty()) continue;
    const uint32_t at = std::min(decisiveMember(document, pair), uint32_t(members.size()) - 1);
    return {&document.side(which).ops.ops[members[at]], which};
  }
  return {nullptr, SideName::a};
}

}  // namespace

QString pairPlace(const Document& document, uint32_t pair) {
  const auto [op, which] = decisiveOp(document, pair);
  const Side& side = document.side(which);
  const auto module = op && side.reader ? side.reader->module(*op)
                                        : std::pair<std::string, std::string>();
  if (module.first.empty()) return placeText(document.tree, document.tree.nodeOfPair[pair]);
  const auto phase = name(op->phase);
  return QStringList{QString("step %1").arg(op->step),
                     QString::fromUtf8(phase.data(), qsizetype(phase.size())), text(module.first)}
      .join(QString(" %1 ").arg(QChar(0x203A)));
}

QString pairTitle(const Document& document, uint32_t pair) {
  const auto [op, which] = decisiveOp(document, pair);
  if (op) {
    const auto members = document.members(document.pairs()[pair], which);
    QString title = opShortTitle(document.side(which), *op);
    if (members.size() > 1) title += QString(" +%1").arg(members.size() - 1);
    return title;
  }
  return {};
}

}  // namespace ulpscope::gui
