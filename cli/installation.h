#pragma once

#include <string>

namespace ulpscope {

/// Where the parts of this installation are. They are looked for beside the program: installed
/// (PREFIX/bin, PREFIX/lib, site-packages) or in the build folder. "" for what is not there.
struct Installation {
  std::string program;       ///< this executable
  std::string preload;       ///< libulpscope_preload.so
  std::string hook;          ///< libulpscope_hook.so
  std::string pythonFolder;  ///< the folder that holds the package `ulpscope`
  std::string inject;        ///< the folder with the sitecustomize of the package
  std::string viewer;        ///< ulpscope-view

  static Installation find();
};

}  // namespace ulpscope
