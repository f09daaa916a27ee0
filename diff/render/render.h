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
};

/// For people: the answer first, then the evidence, then what to type next.
void renderText(const DiffResult& result, std::ostream& out, const TextOptions& options);

/// The contract `ulpscope.diff/1` (docs/diff.schema.json). Numbers that are unknown or not finite
/// are null; text that is not UTF-8 gets replacement characters.
void renderJson(const DiffResult& result, std::ostream& out);

}  // namespace ulpscope
