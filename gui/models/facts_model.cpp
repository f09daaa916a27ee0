#include "gui/models/facts_model.h"

#include <algorithm>
#include <map>

#include "gui/models/format.h"

namespace ulpscope::gui {

FactsModel::FactsModel(QObject* parent) : QAbstractTableModel(parent) {}

void FactsModel::setFacts(std::vector<Fact> facts, bool single) {
  beginResetModel();
  facts_ = std::move(facts);
  single_ = single;
  endResetModel();
}

int FactsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(facts_.size());
}

int FactsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : single_ ? 2 : 3;
}

QVariant FactsModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Fact& fact = facts_[size_t(index.row())];
  if (role == DiffersRole) return fact.differs;
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  return index.column() == 0 ? fact.key : index.column() == 1 ? fact.a : fact.b;
}

QVariant FactsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == 0 ? "" : section == 1 ? "A" : "B";
}

std::vector<FactsModel::Fact> environmentFacts(const Document& document) {
  std::vector<FactsModel::Fact> facts;
  const auto addSide = [&](SideName which) {
    const Side& side = document.side(which);
    if (!side.reader) return;
    for (const KeyValue& entry : side.reader->environment()) {
      const QString key = text(entry.key);
      auto at = std::find_if(facts.begin(), facts.end(),
                             [&](const auto& fact) { return fact.key == key; });
      if (at == facts.end()) at = facts.insert(facts.end(), {key, {}, {}, false});
      (which == SideName::a ? at->a : at->b) = text(entry.value);
    }
  };
  addSide(SideName::a);
  addSide(SideName::b);
  // The diff knows which keys matter; the plain lists hold the rest.
  for (const EnvironmentDifference& difference : document.result.environment) {
    const QString key = text(difference.key);
    auto at = std::find_if(facts.begin(), facts.end(),
                           [&](const auto& fact) { return fact.key == key; });
    if (at == facts.end())
      at = facts.insert(facts.end(), {key, text(difference.a), text(difference.b), true});
    at->differs = true;
  }
  std::stable_partition(facts.begin(), facts.end(), [](const auto& fact) { return fact.differs; });
  return facts;
}

std::vector<FactsModel::Fact> coverageFacts(const Document& document) {
  std::vector<FactsModel::Fact> facts;
  const Coverage& a = document.result.a.coverage;
  const Coverage& b = document.result.b.coverage;
  const auto number = [](uint64_t value) { return QString("%L1").arg(value); };
  const auto add = [&](const QString& key, const QString& x, const QString& y, bool bad = false) {
    facts.push_back({key, x, document.single ? QString() : y, bad});
  };
  const auto end = [](const Side& side) {
    return QString(side.complete ? "complete" : "cut short or still running");
  };
  add("trace", end(document.result.a), end(document.result.b),
      !document.result.a.complete || (!document.single && !document.result.b.complete));
  add("ops", number(a.ops), number(b.ops));
  add("kernels", number(a.kernels), number(b.kernels));
  add("tensors", number(a.tensors), number(b.tensors));
  add("fingerprinted", number(a.hashed), number(b.hashed));
  std::map<std::string, std::pair<uint64_t, uint64_t>> skipped;
  for (const auto& [reason, count] : a.skipped) skipped[reason].first = count;
  for (const auto& [reason, count] : b.skipped) skipped[reason].second = count;
  for (const auto& [reason, counts] : skipped)
    add("skipped: " + text(reason), number(counts.first), number(counts.second));
  const auto percent = [](const Coverage& coverage) {
    return QString("%1 %").arg(100 * coverage.closure(), 0, 'f', 2);
  };
  add("closure", percent(a), percent(b), a.closureBroken != 0 || b.closureBroken != 0);
  add("inputs written behind the recorder", number(a.closureBroken), number(b.closureBroken),
      a.closureBroken != 0 || b.closureBroken != 0);
  add("inputs with no recorded writer", number(a.closureSource), number(b.closureSource));
  add("inputs not checked", number(a.closureUnchecked), number(b.closureUnchecked));
  return facts;
}

}  // namespace ulpscope::gui
