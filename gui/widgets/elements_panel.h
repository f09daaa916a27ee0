#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "gui/models/element_values.h"
#include "gui/workers/job_tracker.h"

class QComboBox;
class QLabel;

namespace ulpscope::gui {

class Heatmap;
class Histogram;

/// Captured operands of the chosen pair, element by element: choose one, see where and by how much its
/// elements differ. Values are read on a worker, and only while the panel can be seen.
class ElementsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ElementsPanel(QWidget* parent = nullptr);

  void setPair(std::shared_ptr<const Document> document, uint32_t pair);
  bool busy() const { return jobs_.busy(); }

 signals:
  void loaded();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void offer();
  void load(int index);
  void show(std::shared_ptr<const ElementPicture> elements);
  QString adviceText() const;

  std::shared_ptr<const Document> document_;
  uint32_t pair_ = kNoPair;
  bool offered_ = false;  ///< the list belongs to the pair
  std::vector<ElementRequest> requests_;
  JobTracker jobs_;
  QComboBox* operands_;
  QLabel* summary_;
  Heatmap* heatmap_;
  Histogram* histogram_;
};

}  // namespace ulpscope::gui
