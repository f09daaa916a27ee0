#include "store/sqlite.h"

#include <sqlite3.h>

#include <filesystem>
#include <utility>

namespace ulpscope::sqlite {

TraceError describe(int code, const std::string& path, std::string_view message) {
  using Code = TraceError::Code;
  const std::string file = path + ": ";
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return {Code::notATrace, file +
                                   "is not an ulpscope trace; give a file that "
                                   "`ulpscope record` wrote"};
    case SQLITE_CORRUPT:
      return {Code::corrupt, file + "the trace is damaged; record the run again"};
    case SQLITE_FULL:
      return {Code::diskFull, file +
                                  "the disk is full; free some space or write the trace "
                                  "elsewhere (-o)"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return {Code::permission, file +
                                    "no permission; check the owner and mode of the file and "
                                    "its folder"};
    case SQLITE_NOMEM:
      return {Code::io, file + "out of memory"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::io, file + "is locked by another process; try again when it is done"};
    case SQLITE_CANTOPEN: {
      std::error_code ignored;
      if (!std::filesystem::exists(path, ignored)) {
        return {Code::missing, file + "no such file; check the path"};
      }
      return {Code::permission, file +
                                    "can't be opened; check the owner and mode of the file and "
                                    "its folder"};
    }
    case SQLITE_IOERR:
      return {Code::io, file + "input/output error (" + std::string(message) +
                            "); check the disk and that the folder is still there"};
    default:
      return {Code::io, file + std::string(message)};
  }
}

Database::Database(const std::string& path, int flags, const char* vfs) : path_(path) {
  // An absolute path: SQLite gives ":memory:", "" and (where built so) "file:..." other meanings.
  std::error_code failed;
  const std::string absolute = std::filesystem::absolute(path, failed).string();
  open(failed ? path : absolute, flags, vfs);
}

Database Database::fromUri(const std::string& uri, const std::string& path, int flags) {
  Database database;
  database.path_ = path;
  database.open(uri, flags | SQLITE_OPEN_URI, nullptr);
  return database;
}

void Database::open(const std::string& name, int flags, const char* vfs) {
  const int code = sqlite3_open_v2(name.c_str(), &handle_, flags, vfs);
  if (code != SQLITE_OK) {
    const TraceError error =
        describe(code, path_, handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory");
    sqlite3_close(std::exchange(handle_, nullptr));
    throw error;
  }
  sqlite3_extended_result_codes(handle_, 1);
}

Database::~Database() {
  sqlite3_close_v2(handle_);
}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

void Database::fail(int code) const {
  throw describe(code, path_, sqlite3_errmsg(handle_));
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

int64_t Database::integer(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? std::string(statement.text(0)) : std::string();
}

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) database.fail(code);
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(database_, other.database_);
  std::swap(statement_, other.statement_);
  return *this;
}

Statement& Statement::bind(int index, int64_t value) {
  // One that was left in the middle of its rows (what they held was damaged) can't be bound.
  if (sqlite3_stmt_busy(statement_) != 0) reset();
  const int code = sqlite3_bind_int64(statement_, index, value);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind(int index, std::string_view value) {
  // A null pointer would bind NULL.
  const char* data = value.data() != nullptr ? value.data() : "";
  const int code =
      sqlite3_bind_text64(statement_, index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

Statement& Statement::bind(int index, std::span<const std::byte> value) {
  const void* data = value.data() != nullptr ? static_cast<const void*>(value.data()) : "";
  const int code = sqlite3_bind_blob64(statement_, index, data, value.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) database_->fail(code);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    const TraceError error = describe(code, database_->path(), sqlite3_errmsg(database_->handle()));
    sqlite3_reset(statement_);
    throw error;
  }
  sqlite3_reset(statement_);
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() {
  sqlite3_reset(statement_);
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace ulpscope::sqlite
