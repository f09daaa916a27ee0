#pragma once

#include <QDialog>
#include <array>
#include <functional>
#include <memory>

#include "gui/models/document.h"
#include "gui/models/notes.h"

class QAction;

namespace ulpscope::gui {

/// Environment and coverage of both runs, side by side, what differs first.
QDialog* makeFactsDialog(const Document& document, QWidget* parent);

/// All actions with their keys, what the labels mean, and the search words.
QDialog* makeShortcutsDialog(const QList<QAction*>& actions, QWidget* parent);

/// Bookmarks and notes of A's and B's ops; `go` is called with the chosen op.
QDialog* makeNotesDialog(const std::array<Notes, 2>& notes,
                         const std::function<void(SideName, OpId)>& go, QWidget* parent);

}  // namespace ulpscope::gui
