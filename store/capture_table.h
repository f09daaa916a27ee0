#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fingerprint/fingerprint.h"
#include "store/compression.h"
#include "store/sqlite.h"

namespace ulpscope {

/// The captured values for reading: which digests there are is kept in memory, the values are read
/// when asked for. Throws Malformed and TraceError.
class CaptureTable {
 public:
  /// `present`: the file has the table. `live`: it may still grow.
  CaptureTable(sqlite::Database& database, bool present, bool live);

  /// Are all values of a tensor with this digest there?
  bool has(const Digest& digest);
  /// The bytes that the digest is of. Nothing where they are not there, or are not those bytes (the
  /// program wrote the tensor while it was captured).
  std::optional<std::vector<std::byte>> values(const Digest& digest);

 private:
  struct Hash {
    size_t operator()(const Digest& digest) const { return static_cast<size_t>(digest.low); }
  };
  struct Parts {
    int64_t bytes = 0;
    std::vector<int64_t> rows;  ///< by part; 0: missing
    bool whole() const;
  };
  const Parts* find(const Digest& digest);
  void load();

  sqlite::Database& database_;
  bool present_;
  bool live_;
  bool loaded_ = false;
  int64_t lastRow_ = 0;
  std::unordered_map<Digest, Parts, Hash> parts_;
  Decompressor decompressor_;
};

}  // namespace ulpscope
