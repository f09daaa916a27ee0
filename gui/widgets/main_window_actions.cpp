#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>

#include "gui/models/format.h"
#include "gui/widgets/dataflow_view.h"
#include "gui/widgets/details_panel.h"
#include "gui/widgets/dialogs.h"
#include "gui/widgets/error_plot.h"
#include "gui/widgets/export_picture.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/minimap.h"
#include "gui/widgets/row_delegate.h"
#include "gui/widgets/rows_view.h"
#include "gui/widgets/search_bar.h"
#include "gui/widgets/theme.h"

/// What the menus and keys of the main window do.
namespace ulpscope::gui {

QAction* MainWindow::action(QMenu* menu, const char* name, const QString& text,
                            const QList<QKeySequence>& keys, std::function<void()> run) {
  auto* action = new QAction(text, this);
  action->setObjectName(name);
  action->setShortcuts(keys);
  connect(action, &QAction::triggered, this, std::move(run));
  menu->addAction(action);
  addAction(action);
  return action;
}

void MainWindow::buildActions() {
  QMenu* file = menuBar()->addMenu("&File");
  action(file, "open", "&Open a trace...", {QKeySequence::Open}, [this] { chooseTraces(false); });
  action(file, "openSecond", "Compare &with...", {Qt::CTRL | Qt::SHIFT | Qt::Key_O},
         [this] { chooseTraces(true); });
  action(file, "reload", "&Reload", {Qt::Key_F5}, [this] {
    if (!source_.a.isEmpty()) load(true);
  });
  file->addSeparator();
  action(file, "copyCommand", "&Copy the command line of this answer",
         {Qt::CTRL | Qt::SHIFT | Qt::Key_C}, [this] {
           if (source_.a.isEmpty()) return;
           QApplication::clipboard()->setText(source_.commandLine());
           say("copied: " + source_.commandLine());
         });
  action(file, "exportReport", "Export the &HTML report...", {Qt::CTRL | Qt::SHIFT | Qt::Key_E},
         [this] { exportReport(); });
  QMenu* pictures = file->addMenu("&Export picture");
  const auto picture = [&](const char* name, const QString& text, QWidget* part, QKeySequence key) {
    action(pictures, name, text, key.isEmpty() ? QList<QKeySequence>{} : QList<QKeySequence>{key},
           [this, part, text] { exportPart(part, QString(text).remove('&').toLower()); });
  };
  picture("exportWindow", "&Window", this, Qt::CTRL | Qt::Key_E);
  picture("exportRows", "&Ops", view_, {});
  picture("exportMap", "&Map", minimap_, {});
  picture("exportPlot", "&Plot", plot_, {});
  picture("exportDataflow", "&Dataflow", flow_, {});
  file->addSeparator();
  action(file, "quit", "&Quit", {QKeySequence::Quit}, [this] { close(); });

  QMenu* go = menuBar()->addMenu("&Go");
  action(go, "first", "&First divergence", {Qt::CTRL | Qt::Key_Home, Qt::Key_F7},
         [this] { selection_.firstStart(); });
  action(go, "nextStart", "&Next start of a difference", {Qt::Key_F8},
         [this] { selection_.nextStart(); });
  action(go, "previousStart", "&Previous start of a difference", {Qt::SHIFT | Qt::Key_F8},
         [this] { selection_.previousStart(); });
  action(go, "nextDifference", "Next &difference", {Qt::Key_F6},
         [this] { selection_.nextDifference(); });
  action(go, "previousDifference", "Previous difference", {Qt::SHIFT | Qt::Key_F6},
         [this] { selection_.previousDifference(); });
  go->addSeparator();
  action(go, "producer", "To the &producer of the differing input",
         {Qt::ALT | Qt::Key_Up}, [this] {
           if (!selection_.toProducer()) say("no recorded op made an input of this one");
         });
  action(go, "origin", "&Walk to where it starts", {Qt::CTRL | Qt::Key_Up}, [this] {
    const int walked = selection_.toOrigin();
    say(walked == 0 ? "this op carries no difference from elsewhere"
                    : QString("walked up %1 ops").arg(walked));
  });
  action(go, "back", "&Back", {Qt::ALT | Qt::Key_Left}, [this] { selection_.back(); });
  action(go, "forward", "F&orward", {Qt::ALT | Qt::Key_Right}, [this] { selection_.forward(); });

  QMenu* view = menuBar()->addMenu("&View");
  action(view, "search", "&Search", {QKeySequence::Find, Qt::Key_Slash},
         [this] { search_->focusSearch(); });
  action(view, "onlyDiffering", "&Only differing ops", {Qt::CTRL | Qt::Key_D},
         [this] { search_->setOnlyDiffering(!search_->onlyDiffering()); });
  action(view, "focusRows", "Focus the o&ps", {Qt::Key_F2}, [this] { view_->setFocus(); });
  action(view, "focusFlow", "Focus the &dataflow", {Qt::Key_F3}, [this] { flow_->setFocus(); });
  view->addSeparator();
  const auto fold = [&](const char* name, const QString& text, int key, std::function<void()> run) {
    action(view, name, text, {QKeySequence(Qt::CTRL | Qt::Key(key))}, [this, run] {
      run();
      search_->setMatches(rows_.visiblePairs(), document() ? int64_t(document()->pairs().size()) : 0);
    });
  };
  fold("foldSteps", "Fold to s&teps", Qt::Key_1, [this] { rows_.collapseFrom(FoldKind::step); });
  fold("foldPhases", "Fold to p&hases", Qt::Key_2, [this] { rows_.collapseFrom(FoldKind::phase); });
  fold("foldModules", "Fold to &modules", Qt::Key_3,
       [this] { rows_.collapseFrom(FoldKind::module); });
  fold("unfold", "&Unfold all", Qt::Key_0, [this] {
    rows_.expandAll();
    if (document()) view_->showPair(selection_.pair(), rows_.decisiveLine(selection_.pair()));
  });
  view->addSeparator();
  action(view, "facts", "&Environment and coverage", {Qt::CTRL | Qt::Key_I}, [this] {
    if (document()) makeFactsDialog(*document(), this)->show();
  });
  QMenu* themes = view->addMenu("&Theme");
  action(themes, "themeAuto", "&As the desktop", {}, [this] { applyThemeChoice(0); });
  action(themes, "themeLight", "&Light", {}, [this] { applyThemeChoice(1); });
  action(themes, "themeDark", "&Dark", {}, [this] { applyThemeChoice(2); });

  QMenu* op = menuBar()->addMenu("&Op");
  action(op, "bookmark", "&Bookmark", {Qt::CTRL | Qt::Key_B}, [this] { toggleBookmark(); });
  action(op, "note", "&Note", {Qt::CTRL | Qt::Key_N}, [this] { details_->editNote(); });
  action(op, "notes", "Bookmarks and notes...", {Qt::CTRL | Qt::SHIFT | Qt::Key_B}, [this] {
    makeNotesDialog(notes_, [this](SideName which, OpId id) {
      if (document()) selection_.choose(document()->pairOf(which, id));
    }, this)->show();
  });
  op->addSeparator();
  action(op, "mark", "&Mark for pairing by hand", {Qt::CTRL | Qt::Key_M}, [this] { mark(); });
  action(op, "pairMarked", "&Pair with the marked op and diff again", {Qt::CTRL | Qt::Key_P},
         [this] { pairWithMarked(); });

  QMenu* help = menuBar()->addMenu("&Help");
  action(help, "shortcuts", "&Keys, labels and search words", {Qt::Key_F1},
         [this] { makeShortcutsDialog(actions(), this)->show(); });
}

void MainWindow::chooseTraces(bool second) {
  const QString folder = source_.a.isEmpty() ? QDir::currentPath() : QFileInfo(source_.a).path();
  const QString path = QFileDialog::getOpenFileName(
      this, second ? "Compare with" : "Open a trace", folder, "Traces (*.ulps);;All files (*)");
  if (path.isEmpty()) return;
  if (second && !source_.a.isEmpty()) open({source_.a, path, {}});
  else open({path, {}, {}});
}

void MainWindow::applyThemeChoice(int choice) {
  applyTheme(*qobject_cast<QApplication*>(QApplication::instance()), ThemeChoice(choice));
}

void MainWindow::exportReport() {
  if (source_.a.isEmpty() || source_.single()) return say("a report needs two traces to compare");
  const QString path = QFileDialog::getSaveFileName(
      this, "Export the report", QFileInfo(source_.a).path() + "/ulpscope.html", "Pages (*.html)");
  if (path.isEmpty()) return;
  const Source source = source_;
  reports_.start<int>(
      "writing " + path,
      [source, path](JobControl& control) {
        writeReport(source, path, control);
        return 0;
      },
      [this, path](int) { say("written: " + path); });
}

void MainWindow::exportPart(QWidget* part, const QString& name) {
  const QString start = QFileInfo(source_.a).path() + "/ulpscope-" + name + ".png";
  const QString path = QFileDialog::getSaveFileName(this, "Export the " + name, start,
                                                    "Pictures (*.png *.svg)");
  if (path.isEmpty()) return;
  QString problem;
  say(exportPicture(*part, path, &problem) ? "written: " + path : problem);
}

std::pair<SideName, OpId> MainWindow::noteKey(uint32_t pair) const {
  if (document() && pair < document()->pairs().size())
    for (SideName which : {SideName::a, SideName::b})
      if (const auto members = document()->members(document()->pairs()[pair], which); !members.empty())
        return {which, document()->side(which).ops.ops[members[0]].id};
  return {SideName::a, OpId{}};
}

void MainWindow::updateNotes() {
  std::vector<uint32_t> pairs;
  for (SideName which : {SideName::a, SideName::b})
    for (const auto& [op, note] : notesOf(which).all())
      if (const uint32_t pair = document() ? document()->pairOf(which, op) : kNoPair; pair != kNoPair)
        pairs.push_back(pair);
  std::sort(pairs.begin(), pairs.end());
  view_->rows()->setBookmarks(std::move(pairs));
  view_->viewport()->update();
}

void MainWindow::keepNotes(SideName which) {
  Notes& notes = notesOf(which);
  const QString trace = which == SideName::a ? source_.a : source_.b;
  say(notes.save() ? "saved in " + Notes::pathFor(trace) : notes.problem());
  updateNotes();
}

void MainWindow::saveNote(const QString& text) {
  const auto [which, op] = noteKey(selection_.pair());
  if (!op) return;
  if (text.isEmpty()) notesOf(which).remove(op);
  else notesOf(which).set(op, pairTitle(*document(), selection_.pair()), text);
  keepNotes(which);
}

void MainWindow::toggleBookmark() {
  const auto [which, op] = noteKey(selection_.pair());
  if (!op) return;
  Notes& notes = notesOf(which);
  if (notes.has(op) && !notes.text(op).isEmpty())
    return say("this op has a note; empty the note to remove the bookmark");
  if (notes.has(op)) notes.remove(op);
  else notes.set(op, pairTitle(*document(), selection_.pair()), {});
  keepNotes(which);
}

void MainWindow::setMarked(uint32_t pair) {
  marked_ = pair;
  view_->rows()->setMarked(pair);
  view_->viewport()->update();
}

void MainWindow::mark() {
  if (!document() || document()->single) return say("pairing by hand needs two traces");
  setMarked(selection_.pair());
  say("marked " + pairTitle(*document(), marked_) +
      "; choose its partner and press Ctrl+P to pair the two");
}

void MainWindow::pairWithMarked() {
  if (!document() || document()->single) return say("pairing by hand needs two traces");
  if (marked_ == kNoPair) return say("mark an op first (Ctrl+M)");
  const auto ids = [&](uint32_t pair, SideName which) {
    std::vector<OpId> ids;
    for (uint32_t op : document()->members(document()->pairs()[pair], which))
      ids.push_back(document()->side(which).ops.ops[op].id);
    return ids;
  };
  // The marked row gives the op of A and the chosen one the op of B, unless one has no such side.
  uint32_t rowA = marked_;
  uint32_t rowB = selection_.pair();
  if (ids(rowA, SideName::a).empty() || ids(rowB, SideName::b).empty()) std::swap(rowA, rowB);
  const auto a = ids(rowA, SideName::a);
  const auto b = ids(rowB, SideName::b);
  if (a.empty() || b.empty() || rowA == rowB)
    return say("one of the two rows must have an op of A and the other an op of B");
  const QString path = source_.mapFile.isEmpty() ? source_.a + ".map.toml" : source_.mapFile;
  QString problem;
  const QString comment = QString("%1 of A stands for %2 of B")
                              .arg(pairTitle(*document(), rowA), pairTitle(*document(), rowB));
  if (!appendMapping(path, a, b, comment, &problem)) return say(problem);
  source_.mapFile = path;
  load(true);
}

}  // namespace ulpscope::gui
