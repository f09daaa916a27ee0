#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store/error.h"

struct sqlite3;
struct sqlite3_stmt;

/// A thin layer over SQLite's C interface: ownership, and each failure a TraceError that names the
/// file. Nothing here touches SQLite's global state: the program may use SQLite itself.
namespace ulpscope::sqlite {

class Database {
 public:
  Database() = default;
  /// `flags`: SQLITE_OPEN_*; `vfs`: nullptr for the default.
  Database(const std::string& path, int flags, const char* vfs = nullptr);
  /// Of a URI; errors name `path`.
  static Database fromUri(const std::string& uri, const std::string& path, int flags);
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;

  explicit operator bool() const { return handle_ != nullptr; }
  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }

  void execute(const char* sql);
  int64_t integer(const char* sql);  ///< first column of the first row; 0 where there is no row
  std::string text(const char* sql);
  [[noreturn]] void fail(int code) const;

 private:
  void open(const std::string& name, int flags, const char* vfs);

  sqlite3* handle_ = nullptr;
  std::string path_;  ///< as the user gave it
};

/// A prepared statement. Text and blobs are bound without a copy: they must outlive step().
class Statement {
 public:
  Statement() = default;
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;

  explicit operator bool() const { return statement_ != nullptr; }
  Statement& bind(int index, int64_t value);
  Statement& bind(int index, std::string_view value);
  Statement& bind(int index, std::span<const std::byte> value);

  bool step();  ///< true: a row; false: done, and reset for the next use
  void run();   ///< steps a statement that gives no rows
  void reset();

  int64_t integer(int column) const;
  std::string_view text(int column) const;            ///< valid until the next step or reset
  std::span<const std::byte> blob(int column) const;  ///< valid until the next step or reset

 private:
  Database* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

/// One line for the user: which file, what is wrong, what to do.
TraceError describe(int code, const std::string& path, std::string_view message);

}  // namespace ulpscope::sqlite
