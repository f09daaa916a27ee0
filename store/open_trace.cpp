#include "store/open_trace.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/format.h"

namespace ulpscope {
namespace {

using Code = TraceError::Code;

constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;

// "none": no locks. With the exclusive mode below, SQLite keeps the index of the log in memory, so
// that a log can be read without the -shm file and without permission to make one.
constexpr const char* kWithoutLocks = "unix-none";

int64_t sizeOf(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<int64_t>(status.st_size) : -1;
}

void checkFile(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      throw TraceError(Code::missing, path + ": no such file; check the path");
    }
    throw TraceError(Code::permission, path + ": can't be opened: " + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    throw TraceError(Code::notATrace, path + ": is a folder; give the .ulps file inside it");
  }
  if (!S_ISREG(status.st_mode)) {
    throw TraceError(Code::notATrace, path + ": is not a file");
  }
  if (status.st_size == 0) {
    throw TraceError(Code::notATrace, path + ": is empty; the recording ended before it began");
  }
}

std::string escapeForUri(const std::string& path) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '/' || c == '.' || c == '-' || c == '_') {
      text += c;
    } else {
      text += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return text;
}

/// Reading settings for a file that may be hostile.
void harden(sqlite::Database& database) {
  sqlite3* handle = database.handle();
  sqlite3_busy_timeout(handle, 5000);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 256 << 20);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  database.execute("PRAGMA cell_size_check=ON");
}

/// No log: nothing changes the file any more. "immutable" also keeps SQLite from making a log where
/// a reader kept the writer from leaving WAL mode, and from rolling back a journal that a writer
/// killed while leaving it left behind (the file is the same but for the mode).
sqlite::Database openFinished(const std::string& path) {
  std::error_code failed;
  std::string absolute = std::filesystem::absolute(path, failed).string();
  if (failed) absolute = path;
  auto database =
      sqlite::Database::fromUri("file:" + escapeForUri(absolute) + "?immutable=1", path, kFlags);
  harden(database);
  return database;
}

sqlite::Database openWithoutLocks(const std::string& path) {
  sqlite::Database database(path, kFlags, kWithoutLocks);
  harden(database);
  database.execute("PRAGMA locking_mode=EXCLUSIVE");
  return database;
}

sqlite::Database openShared(const std::string& path) {
  sqlite::Database database(path, kFlags);
  harden(database);
  database.integer("PRAGMA user_version");  // the first read opens the log
  return database;
}

void checkTables(sqlite::Database& database, int version) {
  sqlite::Statement row(database,
                        "SELECT sql FROM sqlite_schema WHERE name = ? AND type = 'table'");
  for (const TableDefinition& table : kTables) {
    if (table.since > version) continue;
    row.bind(1, table.name);
    if (!row.step() || row.text(0) != table.sql) {
      throw TraceError(Code::corrupt, database.path() + ": the trace is damaged (table " +
                                          table.name + "); record the run again");
    }
    row.reset();
  }
}

}  // namespace

OpenTrace::OpenTrace(const std::string& path) {
  checkFile(path);
  const int64_t log = sizeOf(path + "-wal");
  const bool shared = sizeOf(path + "-shm") >= 0;  // a writer that lives has both files
  if (log < 0 || (log == 0 && !shared)) {
    database = openFinished(path);
  } else if (!shared) {
    database = openWithoutLocks(path);
  } else {
    try {
      database = openShared(path);
      live = true;
    } catch (const TraceError& error) {
      if (error.code() != Code::permission) throw;
      database = openWithoutLocks(path);
    }
  }
  if (database.integer("PRAGMA application_id") != kApplicationId) {
    throw sqlite::describe(SQLITE_NOTADB, path, "");
  }
  formatVersion = static_cast<int>(database.integer("PRAGMA user_version"));
  if (formatVersion > kFormatVersion) {
    throw TraceError(Code::newer, path + ": written by a newer ulpscope (trace format " +
                                      std::to_string(formatVersion) + ", this one reads up to " +
                                      std::to_string(kFormatVersion) + "); update ulpscope");
  }
  if (formatVersion < 1) {
    throw TraceError(Code::corrupt, path + ": the trace is damaged (format " +
                                        std::to_string(formatVersion) + "); record the run again");
  }
  checkTables(database, formatVersion);
}

}  // namespace ulpscope
