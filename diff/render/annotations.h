#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diff/result.h"

/// What reports that point into the source have in common.
namespace ulpscope {

struct SourceLine {
  std::string file;  ///< relative to the root, with "/"
  int32_t line = 0;
};

/// The innermost frame of an origin whose file lies below `root` (absolute), or none: annotations
/// can only point into the repository. A relative file name counts as below it.
std::optional<SourceLine> sourceBelow(const Origin& origin, const std::string& root);

/// Headline, place, size and reason, a line each.
std::string annotationMessage(const DiffResult& result, const Origin& origin);
/// "error"; "warning" for a difference with a known, harmless reason.
std::string_view annotationLevel(const Origin& origin);

}  // namespace ulpscope
