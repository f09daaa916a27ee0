#include "tests/support/temp_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace ulpscope::testing {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "ulpscope-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "mkdtemp");
  }
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace ulpscope::testing
