#include "store/record_tables.h"

#include <algorithm>
#include <iterator>

#include "store/limits.h"
#include "store/op_packing.h"
#include "store/record_packing.h"
#include "store/scalars.h"

namespace ulpscope {

RecordTables::RecordTables(sqlite::Database& database, bool live)
    : database_(database),
      live_(live),
      strings_(database, live, "SELECT id, text FROM string WHERE id > ? ORDER BY id"),
      schemas_(database, live, "SELECT id, packed FROM schema WHERE id > ? ORDER BY id"),
      types_(database, live, "SELECT id, packed FROM type WHERE id > ? ORDER BY id"),
      stacks_(database, live, "SELECT id, packed FROM stack WHERE id > ? ORDER BY id"),
      provenances_(database, live, "SELECT id, packed FROM provenance WHERE id > ? ORDER BY id"),
      scalars_(database, live, "SELECT id, packed FROM scalars WHERE id > ? ORDER BY id") {}

const std::string& RecordTables::string(StringId id) {
  return strings_.get(id.value, [](auto& row) { return std::string(row.text(1)); });
}

const Schema& RecordTables::schema(SchemaId id) {
  const auto text = [this](StringId string) -> const std::string& { return this->string(string); };
  return schemas_.get(id.value, [&](auto& row) { return unpackSchema(row.blob(1), text); });
}

const TensorType& RecordTables::type(TypeId id) {
  return types_.get(id.value, [](auto& row) { return unpackType(row.blob(1)); });
}

const Stack& RecordTables::stack(StackId id) {
  const auto text = [this](StringId string) -> const std::string& { return this->string(string); };
  return stacks_.get(id.value, [&](auto& row) { return unpackStack(row.blob(1), text); });
}

const Provenance& RecordTables::provenance(ProvenanceId id) {
  const auto text = [this](StringId string) -> const std::string& { return this->string(string); };
  return provenances_.get(id.value, [&](auto& row) { return unpackProvenance(row.blob(1), text); });
}

const std::vector<Scalar>& RecordTables::scalars(ScalarsId id) {
  return scalars_.get(id.value, [](auto& row) { return unpackScalars(row.blob(1)); });
}

void RecordTables::loadRegions() {
  sqlite::Statement rows(database_,
                         "SELECT chunk, count, packed FROM region WHERE chunk > ? ORDER BY chunk");
  rows.bind(1, lastRegionRow_);
  std::vector<Region> added;
  int64_t last = lastRegionRow_;
  while (rows.step()) {
    last = rows.integer(0);
    const int64_t count = rows.integer(1);
    checkRowCount(database_, static_cast<int64_t>(added.size()) + count);
    for (const RawRegion& raw : unpackRegions(count, decompressor_.decompress(rows.blob(2)))) {
      added.push_back({raw.id, raw.parent, raw.kind, raw.thread, raw.step, raw.begin, raw.sequence,
                       string(raw.name), string(raw.detail)});
    }
  }
  lastRegionRow_ = last;
  if (!regions_.empty() && added.empty()) return;
  auto all = std::make_unique<std::vector<Region>>();
  if (!regions_.empty()) *all = *regions_.back();
  all->insert(all->end(), std::make_move_iterator(added.begin()),
              std::make_move_iterator(added.end()));
  std::stable_sort(all->begin(), all->end(),
                   [](const Region& a, const Region& b) { return a.id < b.id; });
  regions_.push_back(std::move(all));
}

const std::vector<Region>& RecordTables::regions() {
  if (regions_.empty() || live_) loadRegions();
  return *regions_.back();
}

const Region& RecordTables::region(RegionId id) {
  static const Region none;
  if (!id) return none;
  if (regions_.empty()) loadRegions();
  for (bool refreshed = false;; refreshed = true) {
    const std::vector<Region>& all = *regions_.back();
    const auto found =
        std::lower_bound(all.begin(), all.end(), id,
                         [](const Region& region, RegionId value) { return region.id < value; });
    if (found != all.end() && found->id == id) return *found;
    if (refreshed || !live_) return none;
    loadRegions();
  }
}

}  // namespace ulpscope
