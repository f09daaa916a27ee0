#include "gui/widgets/main_window.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStatusBar>
#include <QVBoxLayout>

#include "gui/models/format.h"
#include "gui/widgets/dataflow_view.h"
#include "gui/widgets/details_panel.h"
#include "gui/widgets/dialogs.h"
#include "gui/widgets/error_plot.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/minimap.h"
#include "gui/widgets/row_delegate.h"
#include "gui/widgets/rows_view.h"
#include "gui/widgets/search_bar.h"
#include "gui/widgets/theme.h"
#include "gui/widgets/verdict_banner.h"

namespace ulpscope::gui {

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) {
  setObjectName("window");
  setAccessibleName("ulpscope");
  setWindowTitle("ulpscope");
  setAcceptDrops(true);
  resize(1280, 800);
  buildLayout();
  buildActions();
  wire();
}

void MainWindow::buildLayout() {
  search_ = new SearchBar(this);
  banner_ = new VerdictBanner(this);
  place_ = new QLabel(this);
  place_->setObjectName("place");
  place_->setContentsMargins(10, 2, 4, 2);
  place_->setForegroundRole(QPalette::PlaceholderText);
  place_->setFont(scaledFont(font(), 0.92));
  view_ = new RowsView(this);
  minimap_ = new Minimap(this);
  details_ = new DetailsPanel(this);
  plot_ = new ErrorPlot(this);
  flow_ = new DataflowView(this);

  auto* list = new QWidget(this);
  auto* grid = new QVBoxLayout(list);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setSpacing(0);
  grid->addWidget(place_);
  auto* lanes = new QWidget(list);
  auto* row = new QHBoxLayout(lanes);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(view_, 1);
  row->addWidget(minimap_);
  grid->addWidget(lanes, 1);

  auto* top = new QSplitter(Qt::Horizontal, this);
  top->addWidget(list);
  top->addWidget(details_);
  top->setSizes({770, 510});
  top->setStretchFactor(0, 3);
  top->setStretchFactor(1, 2);
  top->setChildrenCollapsible(false);
  auto* bottom = new QSplitter(Qt::Horizontal, this);
  bottom->addWidget(plot_);
  bottom->addWidget(flow_);
  bottom->setSizes({640, 640});
  auto* all = new QSplitter(Qt::Vertical, this);
  all->addWidget(top);
  all->addWidget(bottom);
  all->setSizes({470, 205});
  all->setStretchFactor(0, 1);
  all->setChildrenCollapsible(false);

  auto* central = new QWidget(this);
  auto* column = new QVBoxLayout(central);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(search_);
  column->addWidget(banner_);
  column->addWidget(all, 1);
  setCentralWidget(central);

  progress_ = new QProgressBar(this);
  progress_->setMaximum(1000);
  progress_->setMaximumWidth(220);
  progress_->setTextVisible(false);
  cancel_ = new QPushButton("Cancel", this);
  cancel_->setObjectName("cancel");
  legend_ = new Legend(this);
  statusBar()->addPermanentWidget(progress_);
  statusBar()->addPermanentWidget(cancel_);
  statusBar()->addPermanentWidget(legend_);
  progress_->hide();
  cancel_->hide();
  view_->setRows(&rows_);
}

void MainWindow::wire() {
  const auto go = [this](uint32_t pair) { selection_.choose(pair); };
  connect(view_, &RowsView::pairChosen, &selection_, &Selection::choose);
  connect(view_, &RowsView::rangeChanged, this, [this](uint32_t first, uint32_t last) {
    minimap_->setRange(first, last);
    if (document() && first < document()->pairs().size())
      place_->setText(placeText(document()->tree, document()->tree.nodeOfPair[first]));
  });
  connect(minimap_, &Minimap::pairChosen, this, go);
  connect(plot_, &ErrorPlot::pairChosen, this, go);
  connect(flow_, &DataflowView::pairChosen, this, go);
  connect(flow_, &DataflowView::originWanted, this, [this] { selection_.toOrigin(); });
  connect(banner_, &VerdictBanner::pairChosen, this, go);
  connect(banner_, &VerdictBanner::factsWanted, this, [this] {
    if (document()) makeFactsDialog(*document(), this)->show();
  });
  connect(&selection_, &Selection::chosen, this, &MainWindow::follow);
  connect(details_, &DetailsPanel::noteEdited, this, &MainWindow::saveNote);
  connect(search_, &SearchBar::filterChanged, this, [this](const Filter& filter) {
    rows_.setFilter(filter);
    if (document()) {
      search_->setMatches(rows_.visiblePairs(), int64_t(document()->pairs().size()));
      view_->showPair(selection_.pair(), rows_.decisiveLine(selection_.pair()));
    }
  });
  connect(search_, &SearchBar::previousStart, &selection_, &Selection::previousStart);
  connect(search_, &SearchBar::nextStart, &selection_, &Selection::nextStart);
  connect(search_, &SearchBar::leave, view_, qOverload<>(&QWidget::setFocus));

  showProgressOf(jobs_);
  showProgressOf(reports_);
  connect(&jobs_, &JobTracker::cancelled, this, [this] {
    if (!document()) banner_->showMessage("Cancelled. Open a trace, or two to compare.");
  });
  connect(&reports_, &JobTracker::failed, this, &MainWindow::say);
  connect(&jobs_, &JobTracker::failed, this, [this](const QString& message) {
    statusBar()->clearMessage();
    // What was on the screen stays; only the answer on top gives way to the message.
    banner_->showError(message);
    emit failed();
  });
  connect(&live_, &LiveWatch::grew, this, [this] {
    if (!jobs_.busy()) load(true);
  });
}

void MainWindow::showProgressOf(JobTracker& jobs) {
  connect(cancel_, &QPushButton::clicked, &jobs, &JobTracker::cancel);
  connect(&jobs, &JobTracker::started, this, [this](const QString& title) {
    say(title);
    progress_->setValue(0);
    progress_->show();
    cancel_->show();
  });
  connect(&jobs, &JobTracker::progressed, this,
          [this](double share) { progress_->setValue(int(share * 1000)); });
  const auto idle = [this] {
    const bool busy = jobs_.busy() || reports_.busy();
    progress_->setVisible(busy);
    cancel_->setVisible(busy);
  };
  connect(&jobs, &JobTracker::finished, this, idle);
  connect(&jobs, &JobTracker::failed, this, idle);
  connect(&jobs, &JobTracker::cancelled, this, [this, idle] {
    idle();
    say("cancelled");
  });
}

void MainWindow::open(const Source& source) {
  source_ = source;
  QString title = QFileInfo(source.a).fileName();
  if (!source.single()) title += " | " + QFileInfo(source.b).fileName();
  setWindowTitle(title + " - ulpscope");
  for (SideName which : {SideName::a, SideName::b}) {
    const QString trace = which == SideName::a ? source.a : source.b;
    if (!notesOf(which).load(trace)) say(notesOf(which).problem());
  }
  load(false);
}

void MainWindow::load(bool keepSelection) {
  live_.watch({}, 0);
  loading_.start();
  const Source source = source_;
  const QString title = source.single() ? "reading " + source.a
                                        : QString("comparing %1 and %2").arg(source.a, source.b);
  jobs_.start<std::shared_ptr<const Document>>(
      title, [source](JobControl& control) { return loadDocument(source, control); },
      [this, keepSelection](std::shared_ptr<const Document> document) {
        show(std::move(document), keepSelection);
      });
}

void MainWindow::show(std::shared_ptr<const Document> document, bool keepSelection) {
  const bool atEnd = keepSelection && document->single && selection_.document() &&
                     selection_.pair() + 1 == selection_.document()->pairs().size();
  rows_.setDocument(document, keepSelection);
  minimap_->setDocument(document);
  plot_->setDocument(document);
  banner_->setDocument(document);
  if (document->single) legend_->clear();
  else legend_->setCounts(document->result.counts);
  search_->setComparing(!document->single);
  search_->setMatches(rows_.visiblePairs(), int64_t(document->pairs().size()));
  setMarked(kNoPair);
  if (document->pairs().empty()) {
    details_->setPair(nullptr, kNoPair);
    flow_->setPair(nullptr, kNoPair);
  }
  selection_.setDocument(document, keepSelection);
  if (atEnd) selection_.choose(uint32_t(document->pairs().size()) - 1);  // follow what grows
  updateNotes();
  say(QString("%L1 rows in %2 s").arg(rows_.rowCount()).arg(double(loading_.elapsed()) / 1000, 0, 'f', 2));
  QStringList growing;
  for (SideName which : {SideName::a, SideName::b}) {
    const Side& side = document->side(which);
    if (side.reader && !side.complete) growing << text(side.path);
  }
  live_.watch(growing, loading_.elapsed());
  view_->setFocus();
  emit shown();
}

void MainWindow::follow(uint32_t pair, int line) {
  view_->rows()->setCurrent(pair);
  if (line < 0) line = rows_.decisiveLine(pair);
  if (!view_->showPair(pair, line) && document())
    say("the chosen op is hidden by the search; Escape in the search field shows all");
  view_->viewport()->update();
  minimap_->setCurrent(pair);
  plot_->setCurrent(pair);
  flow_->setPair(document(), pair);
  details_->setPair(document(), pair);
  const auto [side, op] = noteKey(pair);
  details_->setNote(notesOf(side).text(op));
  search_->setStarts(selection_.startIndex(), int(selection_.starts().size()));
}

bool MainWindow::busy() const {
  return jobs_.busy() || reports_.busy() || details_->busy();
}

void MainWindow::showPage(const QString& name) { details_->showPage(name); }

void MainWindow::say(const QString& message) { statusBar()->showMessage(message); }

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) paths << url.toLocalFile();
  if (paths.isEmpty()) return;
  open({paths[0], paths.value(1), {}});
}

}  // namespace ulpscope::gui
