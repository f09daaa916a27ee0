#pragma once

#include <iosfwd>
#include <string>

#include "diff/result.h"

/// Renderers of a diff: each takes the plain result and a stream, and reads nothing else.
namespace ulpscope {

struct TextOptions {
  bool colour = false;
  /// How A and B are called on the command line, for the line that names the next command; empty:
  /// the paths of the result.
  std::string nameA;
  std::string nameB;
  std::string more;  ///< a paragraph before the last line, each line of it ended; "" none
  std::string next;  ///< the command of the last line; "" the one that fits a diff
};

/// For people: the answer first, then the evidence, then what to type next.
void renderText(const DiffResult& result, std::ostream& out, const TextOptions& options);

/// The contract `ulpscope.diff/1` (docs/diff.schema.json). Numbers that are unknown or not finite
/// are null; text that is not UTF-8 gets replacement characters.
void renderJson(const DiffResult& result, std::ostream& out);

/// One page that needs nothing else, no network included: the answer, the aligned ops around it, the
/// growth of the error, environment and coverage, and a searchable list of all pairs that is drawn
/// row by row, so that a million stay usable. `#q=TEXT`, `#row=N`, `#differing` and `#theme=dark`
/// after the file's name open it there.
void renderHtml(const DiffResult& result, std::ostream& out);

/// GitHub's Markdown, for the comment on a pull request.
void renderMarkdown(const DiffResult& result, std::ostream& out);

/// JUnit XML: a failed case for each op that starts a difference, one passed case where none does, an
/// error where the traces can't be compared.
void renderJUnit(const DiffResult& result, std::ostream& out);

/// Workflow commands that GitHub shows beside the source lines. `root`: the repository's folder.
void renderGithub(const DiffResult& result, std::ostream& out, const std::string& root);

/// SARIF 2.1.0, for code scanning. `root`: the repository's folder.
void renderSarif(const DiffResult& result, std::ostream& out, const std::string& root);

}  // namespace ulpscope
