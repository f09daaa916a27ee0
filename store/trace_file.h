#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store/coverage_counter.h"
#include "store/op_packing.h"
#include "store/sqlite.h"

namespace ulpscope {

/// The rows of a trace being written: the writer's only way into SQLite. Used by one thread at a
/// time; each failure is a TraceError.
class TraceFile {
 public:
  /// Creates the file (mode 0600, never through a link) with its empty tables, in WAL mode.
  TraceFile(const std::string& path, bool overwrite);

  void begin();
  /// Also throws when the file is no longer there under its name: what SQLite writes to a removed
  /// file succeeds and is lost.
  void commit();
  void rollBack() noexcept;

  void addString(StringId id, std::string_view text);
  void addSchema(SchemaId id, std::span<const std::byte> packed);
  void addStack(StackId id, std::span<const std::byte> packed);
  void addProvenance(ProvenanceId id, std::span<const std::byte> packed);
  void addType(TypeId id, std::span<const std::byte> packed);
  void addScalars(ScalarsId id, std::span<const std::byte> packed);
  void addRegions(int64_t count, std::span<const std::byte> packed);
  void addOps(const OpChunk& chunk, std::span<const std::byte> ops,
              std::span<const std::byte> operands);
  void addFingerprints(FingerprintId first, int64_t count, std::span<const std::byte> digests,
                       std::span<const std::byte> rests);
  /// A part of the values of the tensors with this digest, `bytes` in all; `packed`: a block.
  void addCapture(const Digest& digest, int64_t part, int64_t bytes,
                  std::span<const std::byte> packed);
  void setEnvironment(std::string_view key, std::string_view value);
  void setMeta(std::string_view key, std::string_view value);
  void addEvent(OpId at, std::string_view kind, std::string_view text);

  /// Writes the coverage and the clean-end mark.
  void markComplete(const Coverage& coverage);
  /// Brings the log into the file and, unless a reader is in the way, leaves one file that can be
  /// read from a read-only folder.
  void close();

 private:
  void addRow(sqlite::Statement& statement, int64_t id, std::span<const std::byte> packed);

  sqlite::Database database_;
  uint64_t inode_ = 0;
  uint64_t device_ = 0;
  sqlite::Statement string_, schema_, stack_, provenance_, type_, scalars_, region_, op_,
      fingerprint_, capture_, environment_, meta_, event_;
};

}  // namespace ulpscope
