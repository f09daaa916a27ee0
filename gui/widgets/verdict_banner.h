#pragma once

#include <QFrame>
#include <memory>

#include "gui/models/document.h"

class QLabel;

namespace ulpscope::gui {

/// The answer, on top: which op, where, what kind of difference, how large, how sure. Errors stand in
/// the same place, so that a file that can't be read never takes the window away.
class VerdictBanner : public QFrame {
  Q_OBJECT

 public:
  explicit VerdictBanner(QWidget* parent = nullptr);

  void setDocument(std::shared_ptr<const Document> document);
  void showMessage(const QString& message);
  void showError(const QString& message);
  QString title() const;
  QString explanation() const;

 signals:
  void pairChosen(uint32_t pair);
  void factsWanted();  ///< the environment and coverage

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void setTexts(const QString& title, const QString& where, const QString& explanation,
                const QString& more);
  QString moreText(const Document& document) const;

  QLabel* title_;
  QLabel* where_;
  QLabel* explanation_;
  QLabel* more_;
  std::shared_ptr<const Document> document_;
  bool error_ = false;
};

}  // namespace ulpscope::gui
