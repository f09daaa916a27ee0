#include "cli/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/verb.h"

namespace ulpscope {
namespace {

/// The folder that annotations are relative to: the checkout on a CI machine, else here.
std::string sourceRoot() {
  const char* workspace = std::getenv("GITHUB_WORKSPACE");
  if (workspace != nullptr && *workspace != '\0') return workspace;
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

struct Format {
  const char* name;
  void (*write)(const DiffResult&, std::ostream&, const TextOptions&);
};

constexpr Format kFormats[] = {
    {"text", renderText},
    {"json", [](const DiffResult& result, std::ostream& out,
                const TextOptions&) { renderJson(result, out); }},
    {"html", [](const DiffResult& result, std::ostream& out,
                const TextOptions&) { renderHtml(result, out); }},
    {"markdown", [](const DiffResult& result, std::ostream& out,
                    const TextOptions&) { renderMarkdown(result, out); }},
    {"junit", [](const DiffResult& result, std::ostream& out,
                 const TextOptions&) { renderJUnit(result, out); }},
    {"github", [](const DiffResult& result, std::ostream& out,
                  const TextOptions&) { renderGithub(result, out, sourceRoot()); }},
    {"sarif", [](const DiffResult& result, std::ostream& out,
                 const TextOptions&) { renderSarif(result, out, sourceRoot()); }},
};

}  // namespace

std::vector<std::string> reportFormats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

void writeReport(const std::string& format, const DiffResult& result, std::ostream& out,
                 const TextOptions& text) {
  for (const Format& each : kFormats) {
    if (format == each.name) return each.write(result, out, text);
  }
  throw CommandError(fmt::format("there is no format '{}'; there are {}", format,
                                 fmt::join(reportFormats(), ", ")));
}

void writeReportFile(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) {
    throw CommandError(fmt::format("can't write {} ({}); choose another place with -o", path,
                                   std::strerror(errno)));
  }
}

}  // namespace ulpscope
