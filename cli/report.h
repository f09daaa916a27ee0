#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "diff/render/render.h"

namespace ulpscope {

/// Names of the formats that `diff` and `gate check` write: "text", "json", "html", ...
std::vector<std::string> reportFormats();

/// Writes a result in one of them. `text` is for "text" alone.
void writeReport(const std::string& format, const DiffResult& result, std::ostream& out,
                 const TextOptions& text);

/// Throws CommandError where the file can't be written.
void writeReportFile(const std::string& path, const std::string& content);

}  // namespace ulpscope
