#pragma once

#include <QWidget>

#include "gui/models/filter.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QToolButton;

namespace ulpscope::gui {

/// Filter as text, "only differing", and stepping through the starts.
class SearchBar : public QWidget {
  Q_OBJECT

 public:
  explicit SearchBar(QWidget* parent = nullptr);

  void focusSearch();
  void clear();
  void setOnlyDiffering(bool on);
  bool onlyDiffering() const;
  void setComparing(bool comparing);  ///< false: one trace, there is nothing to step through
  void setMatches(int64_t shown, int64_t all);
  void setStarts(int index, int count);  ///< index -1: between two

 signals:
  void filterChanged(const Filter& filter);
  void previousStart();
  void nextStart();
  void leave();  ///< Enter or Escape: back to the rows

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void apply();

  QLineEdit* search_;
  QPushButton* differing_;
  QLabel* matches_;
  QToolButton* previous_;
  QToolButton* next_;
  QLabel* starts_;
};

}  // namespace ulpscope::gui
