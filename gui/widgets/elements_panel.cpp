#include "gui/widgets/elements_panel.h"

#include <QComboBox>
#include <QLabel>
#include <QVBoxLayout>

#include "diff/render/format.h"
#include "gui/models/format.h"
#include "gui/widgets/heatmap.h"
#include "gui/widgets/histogram.h"

namespace ulpscope::gui {

ElementsPanel::ElementsPanel(QWidget* parent) : QWidget(parent) {
  setObjectName("elements");
  operands_ = new QComboBox(this);
  operands_->setObjectName("elementOperands");
  operands_->setAccessibleName("Captured operand");
  operands_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  summary_ = new QLabel(this);
  summary_->setObjectName("elementSummary");
  summary_->setWordWrap(true);
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  heatmap_ = new Heatmap(this);
  histogram_ = new Histogram(this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 4, 0, 2);
  layout->setSpacing(4);
  layout->addWidget(operands_);
  layout->addWidget(summary_);
  layout->addWidget(heatmap_, 2);
  layout->addWidget(histogram_, 1);
  connect(operands_, &QComboBox::activated, this, &ElementsPanel::load);
  connect(&jobs_, &JobTracker::failed, this, [this](const QString& why) {
    summary_->setText(why);
    show(nullptr);
  });
}

void ElementsPanel::setPair(std::shared_ptr<const Document> document, uint32_t pair) {
  document_ = std::move(document);
  pair_ = pair;
  offered_ = false;
  if (isVisible()) offer();
}

void ElementsPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!offered_) offer();
}

void ElementsPanel::offer() {
  offered_ = true;
  jobs_.cancel();
  requests_ = document_ ? capturedOperands(*document_, pair_) : std::vector<ElementRequest>();
  operands_->clear();
  for (const ElementRequest& request : requests_) operands_->addItem(request.title);
  operands_->setVisible(!requests_.empty());
  show(nullptr);
  summary_->setText(requests_.empty() ? adviceText() : QString());
  if (!requests_.empty()) load(0);
}

QString ElementsPanel::adviceText() const {
  if (!document_ || pair_ >= document_->pairs().size()) return {};
  const Pair& pair = document_->pairs()[pair_];
  for (SideName which : {SideName::a, SideName::b}) {
    const auto members = document_->members(pair, which);
    if (members.empty()) continue;
    const uint32_t at = std::min(decisiveMember(*document_, pair_), uint32_t(members.size()) - 1);
    const Side& side = document_->side(which);
    const Op& op = side.ops.ops[members[at]];
    const QString glob = QString::fromStdString(
        shellQuoted("--capture=" + opFullTitle(side, op).toStdString()));
    return QString("The values of this op were not captured. Record both runs with\n%1\nto compare "
                   "them element by element.")
        .arg(glob);
  }
  return {};
}

void ElementsPanel::load(int index) {
  if (index < 0 || size_t(index) >= requests_.size()) return;
  const ElementRequest request = requests_[size_t(index)];
  using Elements = std::shared_ptr<const ElementPicture>;
  summary_->setText("reading...");
  jobs_.start<Elements>(
      "reading values",
      [request](JobControl&) -> Elements {
        return std::make_shared<const ElementPicture>(loadElements(request));
      },
      [this](Elements elements) {
        summary_->setText(elements->summary());
        show(std::move(elements));
        emit loaded();
      });
}

void ElementsPanel::show(std::shared_ptr<const ElementPicture> elements) {
  heatmap_->setVisible(elements && elements->elements() > 0);
  histogram_->setElements(elements);
  heatmap_->setElements(std::move(elements));
}

}  // namespace ulpscope::gui
