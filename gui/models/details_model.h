#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <vector>

#include "gui/models/document.h"
#include "gui/models/operand_match.h"

namespace ulpscope::gui {

/// Everything about one pair, the two sides next to each other: operands with their statistics below
/// them (in a group below the op that they belong to), scalar arguments, and what the op is. Rows that
/// differ answer true for DiffersRole.
class DetailsModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { columnName, columnA, columnB, columnDifference, kColumns };
  enum Roles { DiffersRole = Qt::UserRole, SectionRole, OpRole };

  explicit DetailsModel(QObject* parent = nullptr);

  /// kNoPair empties the model.
  void setPair(std::shared_ptr<const Document> document, uint32_t pair);
  uint32_t pair() const { return pair_; }

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Item {
    int parent;  ///< -1: top level
    int row;     ///< among its siblings
    QString texts[kColumns];
    bool differs = false;
    bool section = false;
    bool op = false;  ///< the op of a group whose operands stand below
    std::vector<int> children;
  };
  int add(int parent, const QString& name, const QString& a = {}, const QString& b = {},
          const QString& difference = {}, bool differs = false);
  /// Adds a row whose difference is that its two texts are not equal.
  void compareTexts(int parent, const QString& name, const QString& a, const QString& b);
  int section(const QString& name);
  void addOperands(bool written, const std::vector<OperandMatch>& matches);
  void addStatistics(int item, const OperandMatch& match);
  void addArguments(const Pair& pair);
  void addFacts(const Pair& pair);
  const Op* firstOp(const Pair& pair, SideName which) const;

  std::shared_ptr<const Document> document_;
  uint32_t pair_ = kNoPair;
  std::vector<Item> items_;
  std::vector<int> top_;
};

}  // namespace ulpscope::gui
