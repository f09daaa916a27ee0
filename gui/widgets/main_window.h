#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <array>
#include <memory>
#include <utility>

#include "gui/models/notes.h"
#include "gui/models/rows_model.h"
#include "gui/models/selection.h"
#include "gui/workers/job_tracker.h"
#include "gui/workers/live_watch.h"
#include "gui/workers/load_document.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace ulpscope::gui {

class DataflowView;
class DetailsPanel;
class ErrorPlot;
class Legend;
class Minimap;
class RowsView;
class SearchBar;
class VerdictBanner;

/// Wires models, workers and widgets together.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);

  /// Loads in the background; the window shows progress, then the answer or what is wrong.
  void open(const Source& source);
  const Source& source() const { return source_; }
  Selection& selection() { return selection_; }
  RowsModel& rows() { return rows_; }
  bool busy() const;  ///< a worker has something to do for this window
  /// The page of the details: "values", "elements", "stack" or "kernel".
  void showPage(const QString& name);
  const std::shared_ptr<const Document>& document() const { return selection_.document(); }

 signals:
  void shown();   ///< a document is on the screen
  void failed();  ///< the banner says why

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void buildLayout();
  void buildActions();
  QAction* action(QMenu* menu, const char* name, const QString& text,
                  const QList<QKeySequence>& keys, std::function<void()> run);
  void wire();
  void load(bool keepSelection);
  void show(std::shared_ptr<const Document> document, bool keepSelection);
  void follow(uint32_t pair, int line);
  void say(const QString& message);
  void updateNotes();
  void saveNote(const QString& text);
  void toggleBookmark();
  /// Where the notes of a pair are: the side and the op. None where it has no op.
  std::pair<SideName, OpId> noteKey(uint32_t pair) const;
  Notes& notesOf(SideName which) { return notes_[size_t(which)]; }
  void keepNotes(SideName which);
  void exportReport();
  void showProgressOf(JobTracker& jobs);
  void setMarked(uint32_t pair);
  void mark();
  void pairWithMarked();
  void exportPart(QWidget* part, const QString& name);
  void chooseTraces(bool second);
  void applyThemeChoice(int choice);

  Source source_;
  Selection selection_;
  RowsModel rows_;
  std::array<Notes, 2> notes_;  ///< of A's ops, and of those of B that have no partner
  JobTracker jobs_;
  JobTracker reports_;
  LiveWatch live_;
  QElapsedTimer loading_;
  uint32_t marked_ = kNoPair;

  SearchBar* search_;
  VerdictBanner* banner_;
  QLabel* place_;
  RowsView* view_;
  Minimap* minimap_;
  DetailsPanel* details_;
  ErrorPlot* plot_;
  DataflowView* flow_;
  Legend* legend_;
  QProgressBar* progress_;
  QPushButton* cancel_;
};

}  // namespace ulpscope::gui
