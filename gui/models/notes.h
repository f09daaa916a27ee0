#pragma once

#include <QString>
#include <map>

#include "store/records.h"

namespace ulpscope::gui {

/// Bookmarks and notes about ops of one trace, kept beside it as TRACE.ulps.notes.json: a small file
/// to commit or to send along. Keyed by the op's number, which belongs to one recording.
class Notes {
 public:
  struct Note {
    QString op;    ///< its name when the note was made, for readers of the file
    QString text;  ///< may be empty: a bookmark alone
  };

  static QString pathFor(const QString& trace);

  /// Reads the notes of a trace; a missing file is an empty list. False where a file is there and
  /// can't be read: then nothing is kept and save() refuses to overwrite it. problem() says why.
  bool load(const QString& trace);
  bool save();
  const QString& problem() const { return problem_; }

  const std::map<OpId, Note>& all() const { return notes_; }
  bool has(OpId op) const { return notes_.contains(op); }
  QString text(OpId op) const;
  void set(OpId op, const QString& name, const QString& text);
  void remove(OpId op) { notes_.erase(op); }

 private:
  QString path_;
  QString problem_;
  bool readable_ = false;
  std::map<OpId, Note> notes_;
};

}  // namespace ulpscope::gui
