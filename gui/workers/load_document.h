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
  QString mapFile;    ///< "" none
  QString rulesFile;  ///< "" none; this and what follows as in DiffOptions
  QString noiseFile;
  double rtol = 0;
  double atol = 0;
  double ulp = 0;
  bool single() const { return b.isEmpty(); }
  /// The command line that gives the same answer.
  QString commandLine() const;
};

/// Reads, diffs and indexes on the calling (worker) thread. Throws TraceError and Cancelled.
std::shared_ptr<const Document> loadDocument(const Source& source, JobControl& control);

/// Compares again and writes the HTML report to `path`. Throws TraceError and Cancelled, and
/// std::runtime_error with one line where the file can't be written.
void writeReport(const Source& source, const QString& path, JobControl& control);

/// Appends to a mapping file that these ops stand for each other (docs/alignment.md). False with
/// one line in `problem` where the file can't be written.
bool appendMapping(const QString& path, const std::vector<OpId>& a, const std::vector<OpId>& b,
                   const QString& comment, QString* problem);

}  // namespace ulpscope::gui
