#pragma once

#include <string>

#include "store/sqlite.h"

namespace ulpscope {

/// A trace opened for reading, checked to be one that this version understands. Never changes the
/// trace; finished traces and those of a killed process need no file beside them to be written.
struct OpenTrace {
  /// Throws TraceError: missing, notATrace, newer, corrupt, permission, io.
  explicit OpenTrace(const std::string& path);

  sqlite::Database database;
  int formatVersion = 0;
  bool live = false;  ///< may still be growing
};

}  // namespace ulpscope
