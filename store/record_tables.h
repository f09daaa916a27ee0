#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "store/bytes.h"
#include "store/compression.h"
#include "store/records.h"
#include "store/sqlite.h"

namespace ulpscope {

/// A table of packed records with dense ids from 1, loaded at the first use and, of a file that
/// grows, as far as it has grown. References stay valid.
template <class Record>
class RecordTable {
 public:
  RecordTable(sqlite::Database& database, bool live, const char* select)
      : database_(database), live_(live), select_(select) {}

  /// Empty for an id that the file lacks. `unpack` makes a Record of a row. Throws Malformed and
  /// TraceError.
  template <class Unpack>
  const Record& get(uint64_t id, Unpack&& unpack) {
    static const Record none{};
    if (id == 0) return none;
    if (id > records_.size() && (!loaded_ || live_)) load(unpack);
    return id <= records_.size() ? records_[id - 1] : none;
  }

 private:
  template <class Unpack>
  void load(Unpack&& unpack) {
    sqlite::Statement rows(database_, select_);
    rows.bind(1, static_cast<int64_t>(records_.size()));
    while (rows.step()) {
      if (rows.integer(0) != static_cast<int64_t>(records_.size()) + 1) {
        throw Malformed{"rows are missing"};
      }
      records_.push_back(unpack(rows));
    }
    loaded_ = true;
  }

  sqlite::Database& database_;
  bool live_;
  const char* select_;
  bool loaded_ = false;
  std::deque<Record> records_;
};

/// Strings and all that is made of them.
class RecordTables {
 public:
  RecordTables(sqlite::Database& database, bool live);

  const std::string& string(StringId id);
  const Schema& schema(SchemaId id);
  const TensorType& type(TypeId id);
  const Stack& stack(StackId id);
  const Provenance& provenance(ProvenanceId id);
  const std::vector<Scalar>& scalars(ScalarsId id);
  const std::vector<Region>& regions();  ///< in order of id
  const Region& region(RegionId id);

 private:
  void loadRegions();

  sqlite::Database& database_;
  bool live_;
  RecordTable<std::string> strings_;
  RecordTable<Schema> schemas_;
  RecordTable<TensorType> types_;
  RecordTable<Stack> stacks_;
  RecordTable<Provenance> provenances_;
  RecordTable<std::vector<Scalar>> scalars_;

  /// Regions of a file that grows are copied to a larger vector; the earlier ones stay for those
  /// who hold references.
  std::vector<std::unique_ptr<std::vector<Region>>> regions_;
  int64_t lastRegionRow_ = 0;
  Decompressor decompressor_;
};

}  // namespace ulpscope
