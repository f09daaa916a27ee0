#pragma once

#include <QString>
#include <memory>

#include "gui/models/document.h"
#include "gui/workers/job_tracker.h"

namespace ulpscope::gui {

/// What to show: one trace (b empty) or a diff of two.
struct Source {
  QString a;
  QString b;
  QString mapFile;  ///< "" none
  bool single() const { return b.isEmpty(); }
  /// The command line that gives the same answer.
  QString commandLine() const;
};

/// Reads, diffs and indexes on the calling (worker) thread. Throws TraceError and Cancelled.
std::shared_ptr<const Document> loadDocument(const Source& source, JobControl& control);

/// Appends to a mapping file that these ops stand for each other (docs/alignment.md). False with
/// one line in `problem` where the file can't be written.
bool appendMapping(const QString& path, const std::vector<OpId>& a, const std::vector<OpId>& b,
                   const QString& comment, QString* problem);

}  // namespace ulpscope::gui
