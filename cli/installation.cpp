#include "cli/installation.h"

#include <filesystem>
#include <vector>

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

std::string firstThere(const std::vector<fs::path>& candidates) {
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::exists(candidate, error)) {
      return candidate.lexically_normal().string();
    }
  }
  return {};
}

}  // namespace

Installation Installation::find() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = program.parent_path();
  const fs::path prefix = folder.parent_path();  // the build folder, for a program not installed

  Installation found;
  found.program = program.string();

  std::vector<fs::path> packages = {prefix / ULPSCOPE_PYTHON_DIR};
  const fs::path libraries = prefix / "lib";
  if (fs::is_directory(libraries, error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(libraries, error)) {
      if (entry.path().filename().string().starts_with("python3")) {
        packages.push_back(entry.path() / "site-packages");
        packages.push_back(entry.path() / "dist-packages");
      }
    }
  }
  packages.push_back(prefix / "python");  // build folder

  std::vector<fs::path> preloads, hooks, injects, holders;
  for (const fs::path& package : packages) {
    const fs::path ours = package / "ulpscope";
    for (const fs::path& place : {ours / "lib", ours}) {
      preloads.push_back(place / "libulpscope_preload.so");
      hooks.push_back(place / "libulpscope_hook.so");
    }
    injects.push_back(ours / "_inject");
    holders.push_back(ours / "__init__.py");
  }
  for (const fs::path& place : {prefix / "dispatch_hook", prefix / ULPSCOPE_LIBRARY_DIR,
                                prefix / ULPSCOPE_LIBRARY_DIR / "ulpscope", prefix / "lib",
                                prefix / "lib" / "ulpscope"}) {
    preloads.push_back(place / "libulpscope_preload.so");
    hooks.push_back(place / "libulpscope_hook.so");
  }
  found.preload = firstThere(preloads);
  found.hook = firstThere(hooks);
  found.inject = firstThere(injects);
  const std::string holder = firstThere(holders);
  if (!holder.empty()) found.pythonFolder = fs::path(holder).parent_path().parent_path().string();
  found.viewer = firstThere({folder / "ulpscope-view", prefix / "gui" / "ulpscope-view"});
  return found;
}

}  // namespace ulpscope
