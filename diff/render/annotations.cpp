#include "diff/render/annotations.h"

#include <filesystem>

#include "diff/render/phrases.h"

namespace ulpscope {

std::string annotationMessage(const DiffResult& result, const Origin& origin) {
  std::string text = headline(result, origin).whole() + "\n" + whereText(origin);
  if (const std::string size = sizeText(origin); !size.empty()) text += "\n" + size;
  return text + "\n" + origin.explanation;
}

std::string_view annotationLevel(const Origin& origin) {
  return origin.expected ? "warning" : "error";
}

std::optional<SourceLine> sourceBelow(const Origin& origin, const std::string& root) {
  namespace fs = std::filesystem;
  const fs::path top = fs::path(root).lexically_normal();
  for (const auto* side : {&origin.b, &origin.a}) {
    if (!*side) continue;
    for (const Frame& frame : (*side)->stack) {
      if (frame.line <= 0 || frame.file.empty() || frame.file.front() == '<') continue;
      // Installed packages are not the user's, even in a virtual environment inside the repository.
      if (frame.file.find("-packages/") != std::string::npos) continue;
      const fs::path file = fs::path(frame.file).lexically_normal();
      const fs::path relative = file.is_absolute() ? file.lexically_relative(top) : file;
      if (relative.empty() || *relative.begin() == "..") continue;
      return SourceLine{relative.generic_string(), frame.line};
    }
  }
  return std::nullopt;
}

}  // namespace ulpscope
