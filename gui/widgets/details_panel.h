#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/details_model.h"

class QLabel;
class QLineEdit;
class QTabWidget;
class QTextBrowser;
class QTreeView;

namespace ulpscope::gui {

class ElementsPanel;

/// Everything about the chosen pair: why it got its label, values side by side, stack, kernel.
class DetailsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit DetailsPanel(QWidget* parent = nullptr);

  void setPair(std::shared_ptr<const Document> document, uint32_t pair);
  void setNote(const QString& note);
  void editNote();
  /// "values", "elements", "stack" or "kernel"; anything else changes nothing.
  void showPage(const QString& name);
  bool busy() const;
  DetailsModel* model() { return &model_; }

 signals:
  void noteEdited(const QString& text);

 private:
  void unfold();
  void showTexts();

  DetailsModel model_;
  std::shared_ptr<const Document> document_;
  uint32_t pair_ = kNoPair;
  QLabel* title_;
  QLabel* why_;
  QLineEdit* note_;
  QTabWidget* tabs_;
  QTreeView* values_;
  ElementsPanel* elements_;
  QTextBrowser* stack_;
  QTextBrowser* kernel_;
};

}  // namespace ulpscope::gui
