#include "store/trace_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/format.h"

namespace ulpscope {
namespace {

using Code = TraceError::Code;

TraceError creationError(const std::string& path, int error) {
  switch (error) {
    case EEXIST:
      return {Code::exists, path + ": exists already; give another name or remove it first"};
    case ENOENT:
    case ENOTDIR: {
      const std::string folder = std::filesystem::path(path).parent_path().string();
      return {Code::missing, path + ": the folder " + folder + " does not exist; create it first"};
    }
    case EACCES:
    case EPERM:
    case EROFS:
      return {Code::permission, path +
                                    ": the folder is not writable; write the trace elsewhere "
                                    "(-o)"};
    case ENOSPC:
    case EDQUOT:
      return {Code::diskFull, path +
                                  ": the disk is full; free some space or write the trace "
                                  "elsewhere (-o)"};
    default:
      return {Code::io, path + ": can't be created: " + std::strerror(error)};
  }
}

void removeOld(const std::string& path, bool overwrite) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw TraceError(Code::exists, path + ": is a folder; give the name of a file");
  }
  if (!overwrite && ::access(path.c_str(), F_OK) == 0) throw creationError(path, EEXIST);
  // Logs that outlived an earlier file of this name: SQLite would replay them into the new one.
  for (const char* suffix : {"-wal", "-shm", "-journal"}) ::unlink((path + suffix).c_str());
  if (overwrite && ::unlink(path.c_str()) != 0 && errno != ENOENT) throw creationError(path, errno);
}

struct stat createEmpty(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) throw creationError(path, errno);
  struct stat status {};
  ::fstat(file, &status);
  ::close(file);
  return status;
}

}  // namespace

TraceFile::TraceFile(const std::string& path, bool overwrite) {
  removeOld(path, overwrite);
  const struct stat status = createEmpty(path);
  inode_ = status.st_ino;
  device_ = status.st_dev;
  try {
    database_ = sqlite::Database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
    sqlite3_busy_timeout(database_.handle(), 2000);
    // Survives the death of the process, not that of the machine: no waiting for the disk.
    database_.execute("PRAGMA synchronous=OFF");
    database_.execute(
        "PRAGMA journal_mode=MEMORY");  // no log of the tables' creation to be left over
    database_.execute("BEGIN");
    database_.execute(("PRAGMA application_id=" + std::to_string(kApplicationId)).c_str());
    database_.execute(("PRAGMA user_version=" + std::to_string(kFormatVersion)).c_str());
    for (const TableDefinition& table : kTables) database_.execute(table.sql);
    database_.execute("COMMIT");
    database_.execute("PRAGMA journal_mode=WAL");
    // The first row makes the log's files, by which a reader knows that the trace may grow.
    sqlite::Statement header(database_, "INSERT INTO header VALUES(?, ?)");
    header.bind(1, "fingerprint_version").bind(2, std::to_string(kFingerprintVersion)).run();

    const auto prepare = [&](const char* sql) { return sqlite::Statement(database_, sql); };
    string_ = prepare("INSERT INTO string VALUES(?, ?)");
    schema_ = prepare("INSERT INTO schema VALUES(?, ?)");
    stack_ = prepare("INSERT INTO stack VALUES(?, ?)");
    provenance_ = prepare("INSERT INTO provenance VALUES(?, ?)");
    type_ = prepare("INSERT INTO type VALUES(?, ?)");
    scalars_ = prepare("INSERT INTO scalars VALUES(?, ?)");
    region_ = prepare("INSERT INTO region(count, packed) VALUES(?, ?)");
    op_ = prepare(
        "INSERT INTO op(first, last, step, count, operand_count, ops, operands) "
        "VALUES(?, ?, ?, ?, ?, ?, ?)");
    fingerprint_ = prepare("INSERT INTO fingerprint VALUES(?, ?, ?, ?)");
    capture_ =
        prepare("INSERT INTO capture(digest, part, bytes, packed) VALUES(?, ?, ?, ?)");
    environment_ = prepare(
        "INSERT INTO environment VALUES(?, ?) "
        "ON CONFLICT(key) DO UPDATE SET value = excluded.value");
    meta_ = prepare(
        "INSERT INTO meta VALUES(?, ?) "
        "ON CONFLICT(key) DO UPDATE SET value = excluded.value");
    event_ = prepare("INSERT INTO event(at, kind, text) VALUES(?, ?, ?)");
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
}

void TraceFile::begin() {
  database_.execute("BEGIN");
}

void TraceFile::commit() {
  database_.execute("COMMIT");
  struct stat status {};
  const std::string& path = database_.path();
  if (::stat(path.c_str(), &status) != 0 || status.st_ino != inode_ || status.st_dev != device_) {
    throw TraceError(Code::io, path +
                                   ": the trace was removed or replaced while it was written; "
                                   "recording stopped");
  }
}

void TraceFile::rollBack() noexcept {
  sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void TraceFile::addRow(sqlite::Statement& statement, int64_t id,
                       std::span<const std::byte> packed) {
  statement.bind(1, id).bind(2, packed).run();
}

void TraceFile::addString(StringId id, std::string_view text) {
  string_.bind(1, id.value).bind(2, text).run();
}
void TraceFile::addSchema(SchemaId id, std::span<const std::byte> packed) {
  addRow(schema_, id.value, packed);
}
void TraceFile::addStack(StackId id, std::span<const std::byte> packed) {
  addRow(stack_, id.value, packed);
}
void TraceFile::addProvenance(ProvenanceId id, std::span<const std::byte> packed) {
  addRow(provenance_, id.value, packed);
}
void TraceFile::addType(TypeId id, std::span<const std::byte> packed) {
  addRow(type_, id.value, packed);
}
void TraceFile::addScalars(ScalarsId id, std::span<const std::byte> packed) {
  addRow(scalars_, id.value, packed);
}
void TraceFile::addRegions(int64_t count, std::span<const std::byte> packed) {
  addRow(region_, count, packed);
}

void TraceFile::addOps(const OpChunk& chunk, std::span<const std::byte> ops,
                       std::span<const std::byte> operands) {
  op_.bind(1, chunk.first.value)
      .bind(2, chunk.last.value)
      .bind(3, chunk.step)
      .bind(4, chunk.count)
      .bind(5, chunk.operandCount)
      .bind(6, ops)
      .bind(7, operands)
      .run();
}

void TraceFile::addFingerprints(FingerprintId first, int64_t count,
                                std::span<const std::byte> digests,
                                std::span<const std::byte> rests) {
  fingerprint_.bind(1, first.value).bind(2, count).bind(3, digests).bind(4, rests).run();
}

void TraceFile::addCapture(const Digest& digest, int64_t part, int64_t bytes,
                           std::span<const std::byte> packed) {
  capture_.bind(1, std::as_bytes(std::span(&digest, 1)))
      .bind(2, part)
      .bind(3, bytes)
      .bind(4, packed)
      .run();
}

void TraceFile::setEnvironment(std::string_view key, std::string_view value) {
  environment_.bind(1, key).bind(2, value).run();
}

void TraceFile::setMeta(std::string_view key, std::string_view value) {
  meta_.bind(1, key).bind(2, value).run();
}

void TraceFile::addEvent(OpId at, std::string_view kind, std::string_view text) {
  event_.bind(1, at.value).bind(2, kind).bind(3, text).run();
}

void TraceFile::markComplete(const Coverage& coverage) {
  sqlite::Statement row(database_, "INSERT INTO coverage VALUES(?, ?)");
  const auto put = [&](std::string_view key, uint64_t value) {
    row.bind(1, key).bind(2, static_cast<int64_t>(value)).run();
  };
  put("ops", coverage.ops);
  put("kernels", coverage.kernels);
  put("tensors", coverage.tensors);
  put("hashed", coverage.hashed);
  for (const auto& [reason, count] : coverage.skipped) put("skipped." + reason, count);
  put("closure.matched", coverage.closureMatched);
  put("closure.broken", coverage.closureBroken);
  put("closure.unchecked", coverage.closureUnchecked);
  put("closure.source", coverage.closureSource);
  sqlite::Statement header(database_, "INSERT INTO header VALUES('complete', '1')");
  header.run();
}

void TraceFile::close() {
  for (sqlite::Statement* statement :
       {&string_, &schema_, &stack_, &provenance_, &type_, &scalars_, &region_, &op_, &fingerprint_,
        &capture_, &environment_, &meta_, &event_}) {
    *statement = sqlite::Statement();
  }
  // A reader that is open keeps the file in WAL mode; then all is at least in the main file.
  const auto attempt = [&](const char* sql) {
    return sqlite3_exec(database_.handle(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  sqlite3_busy_timeout(database_.handle(), 200);
  if (!attempt("PRAGMA journal_mode=DELETE")) attempt("PRAGMA wal_checkpoint(TRUNCATE)");
  database_ = sqlite::Database();
}

}  // namespace ulpscope
