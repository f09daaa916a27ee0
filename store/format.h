#pragma once

#include <array>
#include <cstdint>

/// The tables of a trace. docs/trace-format.md explains them; change both together.
namespace ulpscope {

inline constexpr int32_t kApplicationId = 0x554c5053;  ///< "ULPS"
inline constexpr int kFormatVersion = 2;

struct TableDefinition {
  const char* name;
  const char* sql;  ///< exactly as SQLite keeps it: the reader refuses a table defined otherwise
  int since = 1;    ///< the format version that brought it
};

inline constexpr std::array kTables{
    TableDefinition{"header", "CREATE TABLE header(key TEXT PRIMARY KEY, value TEXT)"},
    TableDefinition{"environment", "CREATE TABLE environment(key TEXT PRIMARY KEY, value TEXT)"},
    TableDefinition{"meta", "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT)"},
    TableDefinition{"coverage", "CREATE TABLE coverage(key TEXT PRIMARY KEY, value INTEGER)"},
    TableDefinition{"event",
                    "CREATE TABLE event(id INTEGER PRIMARY KEY, at INTEGER, kind TEXT, text TEXT)"},
    TableDefinition{"string", "CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT)"},
    TableDefinition{"schema", "CREATE TABLE schema(id INTEGER PRIMARY KEY, packed BLOB)"},
    TableDefinition{"type", "CREATE TABLE type(id INTEGER PRIMARY KEY, packed BLOB)"},
    TableDefinition{"stack", "CREATE TABLE stack(id INTEGER PRIMARY KEY, packed BLOB)"},
    TableDefinition{"provenance", "CREATE TABLE provenance(id INTEGER PRIMARY KEY, packed BLOB)"},
    TableDefinition{"scalars", "CREATE TABLE scalars(id INTEGER PRIMARY KEY, packed BLOB)"},
    TableDefinition{"region",
                    "CREATE TABLE region(chunk INTEGER PRIMARY KEY, count INTEGER, packed BLOB)"},
    TableDefinition{"op",
                    "CREATE TABLE op(chunk INTEGER PRIMARY KEY, first INTEGER, last INTEGER, "
                    "step INTEGER, count INTEGER, operand_count INTEGER, ops BLOB, operands BLOB)"},
    TableDefinition{"fingerprint",
                    "CREATE TABLE fingerprint(first INTEGER PRIMARY KEY, count INTEGER, "
                    "digests BLOB, rests BLOB)"},
    TableDefinition{"capture",
                    "CREATE TABLE capture(id INTEGER PRIMARY KEY, digest BLOB, part INTEGER, "
                    "bytes INTEGER, packed BLOB)",
                    2},
};

/// A captured tensor's values are cut into parts of this many bytes, the last one excepted.
inline constexpr int64_t kCapturePartBytes = int64_t{1} << 20;

}  // namespace ulpscope
