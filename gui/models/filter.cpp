#include "gui/models/filter.h"

#include <algorithm>
#include <string>

namespace ulpscope::gui {
namespace {

using Kind = Filter::Word::Kind;

QString view(std::string_view value) {
  return QString::fromUtf8(value.data(), qsizetype(value.size()));
}

/// Finds a value by its name; -1 where there is none. `nameOf(i)` for i in [0, count).
template <class NameOf>
int indexOf(const QString& value, int count, NameOf nameOf) {
  for (int i = 0; i < count; ++i)
    if (value.compare(nameOf(i), Qt::CaseInsensitive) == 0) return i;
  return -1;
}

std::optional<Filter::Word> parseWord(QString token, QString* problem) {
  Filter::Word word;
  if (token.size() > 1 && token.startsWith('-')) {
    word.negated = true;
    token.remove(0, 1);
  }
  const qsizetype colon = token.indexOf(':');
  const QString key = colon > 0 ? token.left(colon).toLower() : QString();
  word.value = token.mid(colon + 1);
  const auto unknown = [&](const QString& what) {
    *problem = QString("\"%1\" is no %2").arg(word.value, what);
    return std::nullopt;
  };
  if (colon <= 0 || token.mid(colon, 2) == "::") {
    word.value = token;
  } else if (key == "op") {
    word.kind = Kind::op;
  } else if (key == "module") {
    word.kind = Kind::module;
  } else if (key == "label") {
    word.kind = Kind::label;
    word.number = indexOf(word.value, kLabelCount, [](int i) { return view(name(Label(i))); });
    if (word.number < 0) return unknown("label; there are identical, within, origin, propagated, "
                                        "healed, structural, source and opaque");
  } else if (key == "dtype") {
    word.kind = Kind::dtype;
    word.number = indexOf(word.value, kDTypeCount, [](int i) { return view(info(DType(i)).name); });
    if (word.number < 0)
      word.number =
          indexOf(word.value, kDTypeCount, [](int i) { return view(info(DType(i)).shortName); });
    if (word.number < 0) return unknown("dtype; try float32 or f32");
  } else if (key == "phase") {
    word.kind = Kind::phase;
    word.number = indexOf(word.value, 4, [](int i) { return view(name(Phase(i))); });
    if (word.number < 0) return unknown("phase; there are forward, backward, optimizer and other");
  } else if (key == "step") {
    word.kind = Kind::step;
    bool valid = false;
    word.number = word.value.toInt(&valid);
    if (!valid) return unknown("step number");
  } else if (key == "is" && word.value == "differing") {
    word.kind = Kind::differing;
  } else if (key == "is" && word.value == "kernel") {
    word.kind = Kind::kernel;
  } else if (key == "is") {
    return unknown("kind; there are is:differing and is:kernel");
  } else {
    *problem = QString("\"%1:\" is no key; there are op, module, label, dtype, phase, step and is")
                   .arg(key);
    return std::nullopt;
  }
  return word;
}

}  // namespace

std::optional<Filter> parseFilter(const QString& text, QString* problem) {
  Filter filter;
  for (const QString& token : text.split(' ', Qt::SkipEmptyParts)) {
    const auto word = parseWord(token, problem);
    if (!word) return std::nullopt;
    filter.words.push_back(*word);
  }
  return filter;
}

FilterMatcher::FilterMatcher(const Document& document, const Filter& filter)
    : document_(document) {
  for (const Filter::Word& word : filter.words) {
    Prepared prepared{word, {}, {}, {}};
    const auto contains = [&](const std::string& name) {
      return QString::fromStdString(name).contains(word.value, Qt::CaseInsensitive);
    };
    if (word.kind == Kind::any || word.kind == Kind::op) {
      for (SideName which : {SideName::a, SideName::b}) {
        const Side& side = document.side(which);
        if (!side.reader) continue;
        auto& hits = prepared.schemas[size_t(which)];
        hits.resize(size_t(side.reader->schemaCount()) + 1);
        for (size_t id = 1; id < hits.size(); ++id)
          hits[id] = contains(side.reader->schema(SchemaId{uint32_t(id)}).qualified());
      }
    }
    if (word.kind == Kind::any || word.kind == Kind::module) {
      const FoldTree& tree = document.tree;
      prepared.nodes.resize(tree.nodes.size());
      for (size_t i = 1; i < tree.nodes.size(); ++i) {
        const FoldNode& node = tree.nodes[i];
        const bool named = node.kind == FoldKind::module || node.kind == FoldKind::region;
        prepared.nodes[i] = prepared.nodes[node.parent] ||
                            (named && (contains(tree.nameOf(node)) || contains(tree.detailOf(node))));
      }
    }
    words_.push_back(std::move(prepared));
  }
}

bool FilterMatcher::matches(uint32_t pair) const {
  return std::all_of(words_.begin(), words_.end(), [&](const Prepared& word) {
    return holds(word, pair) != word.word.negated;
  });
}

bool FilterMatcher::holds(const Prepared& word, uint32_t pair) const {
  const Pair& at = document_.pairs()[pair];
  switch (word.word.kind) {
    case Kind::label: return int(at.label) == word.word.number;
    case Kind::differing: return at.label != Label::identical;
    case Kind::module: return inModule(word, pair);
    case Kind::any: return anyOp(word, at) || inModule(word, pair);
    default: return anyOp(word, at);
  }
}

bool FilterMatcher::inModule(const Prepared& word, uint32_t pair) const {
  if (word.nodes[document_.tree.nodeOfPair[pair]]) return true;
  // A group stands where its first op does and may run over several modules.
  const Pair& at = document_.pairs()[pair];
  if (at.countA + at.countB <= 2) return false;
  for (SideName which : {SideName::a, SideName::b}) {
    const Side& side = document_.side(which);
    for (uint32_t index : document_.members(at, which)) {
      const auto [name, type] = side.reader->module(side.ops.ops[index]);
      const auto [known, fresh] = word.modules.try_emplace(name + '\n' + type);
      if (fresh)
        known->second = QString::fromStdString(known->first).contains(word.word.value, Qt::CaseInsensitive);
      if (known->second) return true;
    }
  }
  return false;
}

bool FilterMatcher::anyOp(const Prepared& word, const Pair& pair) const {
  for (SideName which : {SideName::a, SideName::b}) {
    const Side& side = document_.side(which);
    for (uint32_t index : document_.members(pair, which)) {
      const Op& op = side.ops.ops[index];
      switch (word.word.kind) {
        case Kind::any:
        case Kind::op: {
          const auto& hits = word.schemas[size_t(which)];
          if (op.schema.value < hits.size() && hits[op.schema.value]) return true;
          break;
        }
        case Kind::phase:
          if (int(op.phase) == word.word.number) return true;
          break;
        case Kind::step:
          if (op.step == word.word.number) return true;
          break;
        case Kind::kernel:
          if (op.kind == OpKind::kernel) return true;
          break;
        case Kind::dtype:
          for (const Operand& operand : side.ops.of(op))
            if (int(side.reader->type(operand.type).dtype) == word.word.number) return true;
          break;
        default: break;
      }
    }
  }
  return false;
}

}  // namespace ulpscope::gui
