#pragma once

#include <cstdint>

#include "store/sqlite.h"

/// Counts that a file can't hold would let a small file take all memory: these throw Malformed.
namespace ulpscope {

/// Of ops or regions. Equal ones compress well, but not beyond this (the tables alone take 60 KiB).
void checkRowCount(sqlite::Database& database, int64_t count);
void checkOperandCount(sqlite::Database& database, int64_t count);

}  // namespace ulpscope
