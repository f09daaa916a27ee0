#include "gui/widgets/details_panel.h"

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QStyledItemDelegate>
#include <QTabWidget>
#include <QTextBrowser>
#include <QTreeView>
#include <QVBoxLayout>
#include <functional>

#include "diff/diff.h"
#include "gui/models/format.h"
#include "gui/models/source_text.h"
#include "gui/widgets/elements_panel.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {

/// Bold sections, and what differs in the colour of a difference with its cell marked.
class ValuesDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const Theme& theme = themeOf(option->palette);
    if (index.data(DetailsModel::SectionRole).toBool()) {
      option->font.setBold(true);
      return;
    }
    if (index.data(DetailsModel::OpRole).toBool()) return;
    if (!index.data(DetailsModel::DiffersRole).toBool()) {
      if (index.column() == DetailsModel::columnDifference || index.column() == 0)
        option->palette.setColor(QPalette::Text, theme.dim);
      return;
    }
    option->font.setBold(index.column() == DetailsModel::columnDifference);
    option->backgroundBrush = theme.tint(Label::origin);
  }
};

QTextBrowser* browser(QWidget* parent, const char* name) {
  auto* browser = new QTextBrowser(parent);
  browser->setObjectName(name);
  browser->setFrameShape(QFrame::NoFrame);
  browser->setOpenLinks(false);
  browser->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  browser->document()->setDefaultStyleSheet(
      "pre { font-family: monospace; margin: 2px; } h4 { margin-top: 6px; margin-bottom: 2px; }");
  return browser;
}

}  // namespace

DetailsPanel::DetailsPanel(QWidget* parent) : QWidget(parent) {
  setObjectName("details");
  title_ = new QLabel(this);
  title_->setObjectName("detailsTitle");
  title_->setWordWrap(true);
  title_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  why_ = new QLabel(this);
  why_->setObjectName("detailsWhy");
  why_->setWordWrap(true);
  why_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  note_ = new QLineEdit(this);
  note_->setObjectName("note");
  note_->setPlaceholderText("note on this op (Ctrl+N), saved beside the trace");
  connect(note_, &QLineEdit::editingFinished, this, [this] {
    if (note_->isModified()) {
      note_->setModified(false);
      emit noteEdited(note_->text());
    }
  });
  values_ = new QTreeView(this);
  values_->setObjectName("values");
  values_->setAccessibleName("Operands and arguments of the chosen op");
  values_->setModel(&model_);
  values_->setItemDelegate(new ValuesDelegate(values_));
  values_->setFrameShape(QFrame::NoFrame);
  values_->setUniformRowHeights(true);
  values_->setIndentation(12);
  values_->header()->setStretchLastSection(true);
  values_->setTextElideMode(Qt::ElideRight);
  stack_ = browser(this, "stack");
  kernel_ = browser(this, "kernel");
  tabs_ = new QTabWidget(this);
  tabs_->setObjectName("detailsTabs");
  tabs_->setDocumentMode(true);
  tabs_->addTab(values_, "&Values");
  elements_ = new ElementsPanel(this);
  tabs_->addTab(elements_, "&Elements");
  tabs_->addTab(stack_, "&Stack");
  tabs_->addTab(kernel_, "&Kernel");
  // Source files are read only for a page that is looked at.
  connect(tabs_, &QTabWidget::currentChanged, this, &DetailsPanel::showTexts);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 6, 4, 2);
  layout->setSpacing(3);
  layout->addWidget(title_);
  layout->addWidget(why_);
  layout->addWidget(note_);
  layout->addWidget(tabs_, 1);
}

void DetailsPanel::setPair(std::shared_ptr<const Document> document, uint32_t pair) {
  document_ = std::move(document);
  pair_ = document_ && pair < document_->pairs().size() ? pair : kNoPair;
  model_.setPair(document_, pair_);
  elements_->setPair(document_, pair_);
  title_->clear();
  why_->clear();
  note_->clear();
  note_->setEnabled(pair_ != kNoPair);
  if (pair_ == kNoPair) {
    stack_->clear();
    kernel_->clear();
    return;
  }
  const Pair& at = document_->pairs()[pair_];
  QString title = "<b>" + pairTitle(*document_, pair_).toHtmlEscaped() + "</b>";
  if (!document_->single) title += ": " + labelText(at.label);
  title += " " + QString(QChar(0x00B7)) + " " +
           pairPlace(*document_, pair_).toHtmlEscaped();
  title_->setText(title);
  QString why;
  if (!document_->single)
    why = at.label == Label::identical ? labelMeaning(at.label)
                                       : text(describe(document_->result, int32_t(pair_)).explanation);
  // The answer on top says it already.
  const auto& first = document_->result.first;
  if (first && first->pair == int32_t(pair_)) why.clear();
  why_->setText(why.toHtmlEscaped());
  why_->setVisible(!why.isEmpty());

  const bool single = document_->single;
  values_->setColumnHidden(DetailsModel::columnB, single);
  values_->setColumnHidden(DetailsModel::columnDifference, single);
  unfold();
  const int width = values_->viewport()->width();
  values_->setColumnWidth(0, width * (single ? 45 : 27) / 100);
  values_->setColumnWidth(1, width * (single ? 55 : 23) / 100);
  values_->setColumnWidth(2, width * 23 / 100);
  const QString kernel = kernelHtml(*document_, pair_);
  tabs_->setTabVisible(tabs_->indexOf(kernel_), !kernel.isEmpty());
  kernel_->setHtml(kernel);
  showTexts();
}

void DetailsPanel::unfold() {
  bool statistics = false;
  const std::function<void(const QModelIndex&)> visit = [&](const QModelIndex& parent) {
    for (int i = 0; i < model_.rowCount(parent); ++i) {
      const QModelIndex row = model_.index(i, 0, parent);
      const bool heading = row.data(DetailsModel::SectionRole).toBool() ||
                           row.data(DetailsModel::OpRole).toBool();
      if (heading) {
        values_->setFirstColumnSpanned(i, parent, true);
        values_->expand(row);
        visit(row);
      } else if (!statistics && row.data(DetailsModel::DiffersRole).toBool()) {
        // Statistics unfold where they are wanted: at the first value that differs.
        values_->expand(row);
        statistics = true;
      }
    }
  };
  visit({});
}

void DetailsPanel::showTexts() {
  if (pair_ != kNoPair && tabs_->currentWidget() == stack_)
    stack_->setHtml(stackHtml(*document_, pair_));
}

void DetailsPanel::setNote(const QString& note) {
  note_->setText(note);
  note_->setModified(false);
}

void DetailsPanel::showPage(const QString& name) {
  for (int i = 0; i < tabs_->count(); ++i)
    if (tabs_->widget(i)->objectName() == name) tabs_->setCurrentIndex(i);
}

bool DetailsPanel::busy() const { return elements_->busy(); }

void DetailsPanel::editNote() {
  note_->setFocus(Qt::ShortcutFocusReason);
  note_->selectAll();
}

}  // namespace ulpscope::gui
