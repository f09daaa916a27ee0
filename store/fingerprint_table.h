#pragma once

#include <deque>
#include <vector>

#include "fingerprint/fingerprint.h"
#include "store/records.h"
#include "store/sqlite.h"

namespace ulpscope {

/// The fingerprint table for reading: digests in memory as far as they were asked for, statistics and
/// sketches a chunk at a time. Throws Malformed and TraceError.
class FingerprintTable {
 public:
  /// `live`: the file may still grow.
  FingerprintTable(sqlite::Database& database, bool live);

  /// Empty for an id that the file lacks.
  Digest digest(FingerprintId id);
  Fingerprint fingerprint(FingerprintId id);

 private:
  struct Chunk {
    int64_t first = 0;
    int64_t count = 0;
  };
  struct Decoded {
    int64_t first = 0;
    std::vector<Fingerprint> fingerprints;
    bool has(FingerprintId id) const {
      return id.value >= first && id.value - first < static_cast<int64_t>(fingerprints.size());
    }
    const Fingerprint& operator[](FingerprintId id) const {
      return fingerprints[static_cast<size_t>(id.value - first)];
    }
  };

  bool has(FingerprintId id);
  void load(int64_t until);
  Decoded decode(const Chunk& chunk);

  sqlite::Database& database_;
  sqlite::Statement rests_;
  bool live_;
  bool loaded_ = false;
  std::vector<Digest> digests_;
  std::vector<Chunk> chunks_;
  std::deque<Decoded> decoded_;  ///< the latest first
};

}  // namespace ulpscope
