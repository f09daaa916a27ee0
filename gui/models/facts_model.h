#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "gui/models/document.h"

namespace ulpscope::gui {

/// A table of facts about the two runs: key, A, B. Rows that differ answer true for DiffersRole.
class FactsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Roles { DiffersRole = Qt::UserRole };
  struct Fact {
    QString key;
    QString a;
    QString b;
    bool differs = false;
  };

  explicit FactsModel(QObject* parent = nullptr);
  void setFacts(std::vector<Fact> facts, bool single);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<Fact> facts_;
  bool single_ = false;
};

/// Environment and settings of both runs, those that differ first.
std::vector<FactsModel::Fact> environmentFacts(const Document& document);
/// What was seen and what was not: ops, tensors, skipped with reasons, closure, clean end.
std::vector<FactsModel::Fact> coverageFacts(const Document& document);

}  // namespace ulpscope::gui
