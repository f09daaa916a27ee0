#include "gui/widgets/search_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTimer>
#include <QToolButton>

namespace ulpscope::gui {

SearchBar::SearchBar(QWidget* parent) : QWidget(parent) {
  search_ = new QLineEdit(this);
  search_->setObjectName("search");
  search_->setPlaceholderText("search: layer_norm  module:h.0  label:origin  dtype:bf16  is:kernel");
  search_->setToolTip(
      "Words, all of which must hold. A plain word looks in op and module names.\n"
      "op:mm  module:h.0  label:origin  dtype:bf16  phase:backward  step:3  is:differing  is:kernel\n"
      "A leading minus turns a word around: -label:propagated");
  search_->setClearButtonEnabled(true);
  search_->installEventFilter(this);
  differing_ = new QPushButton("Only differing", this);
  differing_->setObjectName("onlyDiffering");
  differing_->setCheckable(true);
  differing_->setToolTip("Hide ops that are identical (Ctrl+D)");
  matches_ = new QLabel(this);
  matches_->setObjectName("matches");
  const auto button = [&](const char* name, Qt::ArrowType arrow, const QString& tip) {
    auto* button = new QToolButton(this);
    button->setObjectName(name);
    button->setArrowType(arrow);
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    return button;
  };
  previous_ = button("previousStart", Qt::LeftArrow, "Previous place where a difference starts (Shift+F8)");
  next_ = button("nextStart", Qt::RightArrow, "Next place where a difference starts (F8)");
  starts_ = new QLabel(this);
  starts_->setObjectName("starts");

  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->addWidget(search_, 1);
  layout->addWidget(matches_);
  layout->addWidget(differing_);
  layout->addSpacing(10);
  layout->addWidget(previous_);
  layout->addWidget(starts_);
  layout->addWidget(next_);

  auto* pause = new QTimer(this);  // a filter per keystroke would be work for nothing
  pause->setSingleShot(true);
  pause->setInterval(120);
  connect(pause, &QTimer::timeout, this, &SearchBar::apply);
  connect(search_, &QLineEdit::textChanged, pause, qOverload<>(&QTimer::start));
  connect(search_, &QLineEdit::returnPressed, this, [this, pause] {
    pause->stop();
    apply();
    emit leave();
  });
  connect(differing_, &QPushButton::toggled, this, &SearchBar::apply);
  connect(previous_, &QToolButton::clicked, this, &SearchBar::previousStart);
  connect(next_, &QToolButton::clicked, this, &SearchBar::nextStart);
  setComparing(false);
}

void SearchBar::apply() {
  QString problem;
  auto filter = parseFilter(search_->text(), &problem);
  QPalette palette = this->palette();
  if (!filter) {
    matches_->setText(problem);
    palette.setColor(QPalette::Text, Qt::red);
    search_->setPalette(palette);
    return;
  }
  search_->setPalette(palette);
  if (differing_->isChecked()) filter->words.push_back({Filter::Word::Kind::differing, false, {}, 0});
  emit filterChanged(*filter);
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched == search_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Escape) {
      search_->clear();
      emit leave();
      return true;
    }
    if (key == Qt::Key_Down) {
      emit leave();
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

void SearchBar::focusSearch() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
}

void SearchBar::clear() {
  search_->clear();
  differing_->setChecked(false);
}

void SearchBar::setOnlyDiffering(bool on) { differing_->setChecked(on); }
bool SearchBar::onlyDiffering() const { return differing_->isChecked(); }

void SearchBar::setComparing(bool comparing) {
  differing_->setVisible(comparing);
  previous_->setVisible(comparing);
  next_->setVisible(comparing);
  starts_->setVisible(comparing);
  if (!comparing) differing_->setChecked(false);
}

void SearchBar::setMatches(int64_t shown, int64_t all) {
  matches_->setText(shown == all ? QString() : QString("%L1 of %L2 shown").arg(shown).arg(all));
}

void SearchBar::setStarts(int index, int count) {
  starts_->setText(count == 0  ? QString("no start")
                   : index < 0 ? QString("%L1 starts").arg(count)
                               : QString("start %L1 of %L2").arg(index + 1).arg(count));
  previous_->setEnabled(count > 0);
  next_->setEnabled(count > 0);
}

}  // namespace ulpscope::gui
