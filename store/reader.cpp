#include "store/reader.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "store/compression.h"
#include "store/coverage_counter.h"
#include "store/fingerprint_packing.h"
#include "store/format.h"
#include "store/module_index.h"
#include "store/op_packing.h"
#include "store/open_trace.h"
#include "store/record_packing.h"
#include "store/scalars.h"
#include "store/sqlite.h"

namespace ulpscope {
namespace {

using Code = TraceError::Code;

/// A table of dense ids from 1, loaded as far as the file has it. References stay valid.
template <class Record>
struct InternTable {
  std::deque<Record> records;
  bool loaded = false;
};

struct FingerprintChunk {
  int64_t first = 0;
  int64_t count = 0;
};

struct DecodedFingerprints {
  int64_t first = 0;
  std::vector<Fingerprint> fingerprints;
};

// Equal ops compress well, but not beyond this (the tables alone take 60 KiB).
constexpr int64_t kMostOpsOfByte = 16;
constexpr int64_t kMostOperandsOfByte = 64;

// Decoded chunks that are kept: consecutive ops refer to few of them.
constexpr size_t kKeptChunks = 32;

}  // namespace

struct Reader::Impl {
  explicit Impl(const std::string& path);

  /// Runs `body`; whatever it meets in the file becomes a TraceError that names it.
  template <class Body>
  auto guarded(Body&& body) -> decltype(body());

  void refreshChunks();
  void checkCounts();
  template <class Record, class Unpack>
  const Record& lookUp(InternTable<Record>& table, uint64_t id, const char* sql, Unpack&& unpack);
  const std::string& string(StringId id);
  StringOf stringOf() {
    return [this](StringId id) -> const std::string& { return string(id); };
  }
  void loadRegions();
  void readChunk(const OpChunk& chunk, OpTable& out);
  void reserve(OpTable& table) const;
  Coverage count();
  const ModuleIndex& modules(OpId upTo);
  void loadDigests();
  const Fingerprint* fingerprint(FingerprintId id);

  std::string path;
  OpenTrace trace;
  sqlite::Database& database;
  int formatVersion = 0;
  int fingerprintVersion = 0;

  sqlite::Statement readOp;
  sqlite::Statement readFingerprints;
  Decompressor opsDecompressor;
  Decompressor operandsDecompressor;

  std::vector<OpChunk> chunks;  ///< in order of first op
  int64_t lastChunkRow = 0;
  int64_t opCount = 0;
  int64_t operandCount = 0;
  OpId lastOp;

  std::optional<std::vector<KeyValue>> environment;
  InternTable<std::string> strings;
  InternTable<Schema> schemas;
  InternTable<TensorType> types;
  InternTable<Stack> stacks;
  InternTable<Provenance> provenances;
  InternTable<std::vector<Scalar>> scalars;

  /// Regions of a trace that grows are copied to a larger vector; the earlier ones stay for those
  /// who hold references.
  std::vector<std::unique_ptr<std::vector<Region>>> regions;
  int64_t lastRegionRow = 0;

  std::optional<ModuleIndex> moduleIndex;
  OpId moduleIndexEnd;

  std::vector<Digest> digests;
  bool digestsLoaded = false;
  std::vector<FingerprintChunk> fingerprintChunks;
  std::deque<DecodedFingerprints> decoded;
};

template <class Body>
auto Reader::Impl::guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Malformed& malformed) {
    throw TraceError(Code::corrupt, path + ": the trace is damaged (" + malformed.what +
                                        "); record the run again");
  } catch (const std::bad_alloc&) {
    throw TraceError(Code::io, path + ": out of memory");
  } catch (const std::length_error&) {
    throw TraceError(Code::corrupt, path + ": the trace is damaged; record the run again");
  }
}

Reader::Impl::Impl(const std::string& path)
    : path(path), trace(path), database(trace.database), formatVersion(trace.formatVersion) {
  sqlite::Statement header(database, "SELECT value FROM header WHERE key = ?");
  header.bind(1, "fingerprint_version");
  if (header.step()) fingerprintVersion = std::atoi(std::string(header.text(0)).c_str());
  header.reset();
  readOp = sqlite::Statement(database, "SELECT ops, operands FROM op WHERE chunk = ?");
  readFingerprints =
      sqlite::Statement(database, "SELECT count, digests, rests FROM fingerprint WHERE first = ?");
  guarded([&] { refreshChunks(); });
}

void Reader::Impl::refreshChunks() {
  if (!chunks.empty() && !trace.live) return;
  sqlite::Statement rows(database,
                         "SELECT chunk, first, last, step, count, operand_count FROM op "
                         "WHERE chunk > ? ORDER BY chunk");
  rows.bind(1, lastChunkRow);
  const size_t before = chunks.size();
  while (rows.step()) {
    OpChunk chunk;
    chunk.row = rows.integer(0);
    chunk.first.value = rows.integer(1);
    chunk.last.value = rows.integer(2);
    chunk.step = static_cast<int32_t>(rows.integer(3));
    chunk.count = rows.integer(4);
    chunk.operandCount = rows.integer(5);
    if (chunk.count < 0 || chunk.operandCount < 0 || chunk.last < chunk.first ||
        chunk.count > kMostOpsOfChunk || chunk.operandCount > kMostOperandsOfChunk) {
      throw Malformed{"a count is impossible"};
    }
    lastChunkRow = chunk.row;
    opCount += chunk.count;
    operandCount += chunk.operandCount;
    lastOp = std::max(lastOp, chunk.last);
    chunks.push_back(chunk);
  }
  if (chunks.size() == before) return;
  checkCounts();
  std::stable_sort(chunks.begin(), chunks.end(),
                   [](const OpChunk& a, const OpChunk& b) { return a.first < b.first; });
}

/// Counts that the file can't hold would make a small file take all memory.
void Reader::Impl::checkCounts() {
  const int64_t bytes =
      database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size");
  if (opCount > bytes * kMostOpsOfByte || operandCount > bytes * kMostOperandsOfByte) {
    throw Malformed{"a count is impossible"};
  }
}

template <class Record, class Unpack>
const Record& Reader::Impl::lookUp(InternTable<Record>& table, uint64_t id, const char* sql,
                                   Unpack&& unpack) {
  static const Record none{};
  if (id == 0) return none;
  if (id > table.records.size() && (!table.loaded || trace.live)) {
    sqlite::Statement rows(database, sql);
    rows.bind(1, static_cast<int64_t>(table.records.size()));
    while (rows.step()) {
      if (rows.integer(0) != static_cast<int64_t>(table.records.size()) + 1) {
        throw Malformed{"rows are missing"};
      }
      table.records.push_back(unpack(rows));
    }
    table.loaded = true;
  }
  return id <= table.records.size() ? table.records[id - 1] : none;
}

const std::string& Reader::Impl::string(StringId id) {
  return lookUp(strings, id.value, "SELECT id, text FROM string WHERE id > ? ORDER BY id",
                [](sqlite::Statement& row) { return std::string(row.text(1)); });
}

void Reader::Impl::loadRegions() {
  if (!regions.empty() && !trace.live) return;
  sqlite::Statement rows(database,
                         "SELECT chunk, count, packed FROM region WHERE chunk > ? ORDER BY chunk");
  rows.bind(1, lastRegionRow);
  std::vector<Region> added;
  int64_t last = lastRegionRow;
  const int64_t bytes =
      database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size");
  while (rows.step()) {
    last = rows.integer(0);
    if (static_cast<int64_t>(added.size()) > bytes * kMostOpsOfByte) {
      throw Malformed{"a count is impossible"};
    }
    const auto packed = opsDecompressor.decompress(rows.blob(2));
    for (const RawRegion& raw : unpackRegions(rows.integer(1), packed)) {
      added.push_back({raw.id, raw.parent, raw.kind, raw.thread, raw.step, raw.begin, raw.sequence,
                       string(raw.name), string(raw.detail)});
    }
  }
  lastRegionRow = last;
  if (!regions.empty() && added.empty()) return;
  auto all = std::make_unique<std::vector<Region>>();
  if (!regions.empty()) *all = *regions.back();
  all->insert(all->end(), std::make_move_iterator(added.begin()),
              std::make_move_iterator(added.end()));
  std::stable_sort(all->begin(), all->end(),
                   [](const Region& a, const Region& b) { return a.id < b.id; });
  regions.push_back(std::move(all));
}

void Reader::Impl::readChunk(const OpChunk& chunk, OpTable& out) {
  readOp.bind(1, chunk.row);
  if (!readOp.step()) throw Malformed{"rows are missing"};
  const auto ops = opsDecompressor.decompress(readOp.blob(0));
  const auto operands = operandsDecompressor.decompress(readOp.blob(1));
  unpackOps(chunk, ops, operands, out);
  readOp.reset();
}

void Reader::Impl::reserve(OpTable& table) const {
  table.ops.reserve(static_cast<size_t>(opCount));
  table.operands.reserve(static_cast<size_t>(operandCount));
}

Coverage Reader::Impl::count() {
  CoverageCounter counter;
  OpTable table;
  refreshChunks();
  for (const OpChunk& chunk : chunks) {
    table.ops.clear();
    table.operands.clear();
    readChunk(chunk, table);
    for (const Op& op : table.ops) counter.add(op.kind);
    for (const Operand& operand : table.operands) {
      counter.add(operand.role, operand.skip, operand.closure,
                  static_cast<bool>(operand.fingerprint));
    }
  }
  return counter.result();
}

const ModuleIndex& Reader::Impl::modules(OpId upTo) {
  if (moduleIndex && (upTo <= moduleIndexEnd || !trace.live)) return *moduleIndex;
  moduleIndex.reset();
  refreshChunks();
  loadRegions();
  ModuleIndex index(*regions.back());
  std::vector<Op> ops;
  for (const OpChunk& chunk : chunks) {
    ops.clear();
    readOp.bind(1, chunk.row);
    if (!readOp.step()) throw Malformed{"rows are missing"};
    unpackOpsOnly(chunk, opsDecompressor.decompress(readOp.blob(0)), ops);
    readOp.reset();
    for (const Op& op : ops) index.addForward(op);
  }
  moduleIndexEnd = lastOp;
  return moduleIndex.emplace(std::move(index));
}

void Reader::Impl::loadDigests() {
  sqlite::Statement rows(
      database, "SELECT first, count, digests FROM fingerprint WHERE first > ? ORDER BY first");
  rows.bind(1, static_cast<int64_t>(digests.size()));
  while (rows.step()) {
    const int64_t first = rows.integer(0);
    const int64_t count = rows.integer(1);
    const auto packed = rows.blob(2);
    if (first != static_cast<int64_t>(digests.size()) + 1) throw Malformed{"rows are missing"};
    if (count <= 0 || packed.size() % sizeof(Digest) != 0 ||
        packed.size() / sizeof(Digest) != static_cast<uint64_t>(count)) {
      throw Malformed{"fingerprints are damaged"};
    }
    digests.resize(digests.size() + static_cast<size_t>(count));
    std::memcpy(digests.data() + first - 1, packed.data(), packed.size());
    fingerprintChunks.push_back({first, count});
  }
  digestsLoaded = true;
}

const Fingerprint* Reader::Impl::fingerprint(FingerprintId id) {
  if (id.value <= 0) return nullptr;
  const auto covers = [&](const auto& chunk, int64_t count) {
    return id.value >= chunk.first && id.value < chunk.first + count;
  };
  for (const DecodedFingerprints& chunk : decoded) {
    if (covers(chunk, static_cast<int64_t>(chunk.fingerprints.size()))) {
      return &chunk.fingerprints[static_cast<size_t>(id.value - chunk.first)];
    }
  }
  if (id.value > static_cast<int64_t>(digests.size()) && (!digestsLoaded || trace.live)) {
    loadDigests();
  }
  if (id.value > static_cast<int64_t>(digests.size())) return nullptr;
  const auto after = std::upper_bound(
      fingerprintChunks.begin(), fingerprintChunks.end(), id.value,
      [](int64_t value, const FingerprintChunk& chunk) { return value < chunk.first; });
  const FingerprintChunk& chunk = *std::prev(after);
  readFingerprints.bind(1, chunk.first);
  if (!readFingerprints.step()) throw Malformed{"rows are missing"};
  DecodedFingerprints next;
  next.first = chunk.first;
  next.fingerprints.resize(static_cast<size_t>(chunk.count));
  ByteReader rests(readFingerprints.blob(2));
  for (size_t i = 0; i < next.fingerprints.size(); ++i) {
    next.fingerprints[i].digest = digests[static_cast<size_t>(chunk.first - 1) + i];
    unpackFingerprintRest(rests, next.fingerprints[i]);
  }
  readFingerprints.reset();
  if (decoded.size() == kKeptChunks) decoded.pop_back();
  decoded.push_front(std::move(next));
  return &decoded.front().fingerprints[static_cast<size_t>(id.value - chunk.first)];
}

Reader::Reader(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

const std::string& Reader::path() const {
  return impl_->path;
}
int Reader::formatVersion() const {
  return impl_->formatVersion;
}
int Reader::fingerprintVersion() const {
  return impl_->fingerprintVersion;
}

bool Reader::complete() const {
  return impl_->guarded([&] {
    return impl_->database.integer("SELECT count(*) FROM header WHERE key = 'complete'") != 0;
  });
}

std::string Reader::meta(const std::string& key) const {
  return impl_->guarded([&] {
    sqlite::Statement row(impl_->database, "SELECT value FROM meta WHERE key = ?");
    row.bind(1, key);
    return row.step() ? std::string(row.text(0)) : std::string();
  });
}

const std::vector<KeyValue>& Reader::environment() const {
  return impl_->guarded([&]() -> const std::vector<KeyValue>& {
    if (!impl_->environment || impl_->trace.live) {
      sqlite::Statement rows(impl_->database, "SELECT key, value FROM environment ORDER BY rowid");
      std::vector<KeyValue> all;
      while (rows.step()) all.push_back({std::string(rows.text(0)), std::string(rows.text(1))});
      impl_->environment = std::move(all);
    }
    return *impl_->environment;
  });
}

Coverage Reader::coverage() const {
  return impl_->guarded([&] {
    if (!complete()) return impl_->count();
    Coverage coverage;
    sqlite::Statement rows(impl_->database, "SELECT key, value FROM coverage ORDER BY rowid");
    while (rows.step()) {
      const std::string key(rows.text(0));
      const auto value = static_cast<uint64_t>(rows.integer(1));
      constexpr std::string_view kSkipped = "skipped.";
      if (key == "ops") coverage.ops = value;
      if (key == "kernels") coverage.kernels = value;
      if (key == "tensors") coverage.tensors = value;
      if (key == "hashed") coverage.hashed = value;
      if (key.starts_with(kSkipped))
        coverage.skipped.emplace_back(key.substr(kSkipped.size()), value);
      if (key == "closure.matched") coverage.closureMatched = value;
      if (key == "closure.broken") coverage.closureBroken = value;
      if (key == "closure.unchecked") coverage.closureUnchecked = value;
      if (key == "closure.source") coverage.closureSource = value;
    }
    return coverage;
  });
}

std::vector<Event> Reader::events() const {
  return impl_->guarded([&] {
    std::vector<Event> events;
    sqlite::Statement rows(impl_->database, "SELECT at, kind, text FROM event ORDER BY id");
    while (rows.step()) {
      events.push_back({{rows.integer(0)}, std::string(rows.text(1)), std::string(rows.text(2))});
    }
    return events;
  });
}

int64_t Reader::opCount() const {
  return impl_->guarded([&] {
    impl_->refreshChunks();
    return impl_->opCount;
  });
}

OpId Reader::lastOp() const {
  return impl_->guarded([&] {
    impl_->refreshChunks();
    return impl_->lastOp;
  });
}

const Schema& Reader::schema(SchemaId id) const {
  return impl_->guarded([&]() -> const Schema& {
    return impl_->lookUp(impl_->schemas, id.value,
                         "SELECT id, packed FROM schema WHERE id > ? ORDER BY id",
                         [&](auto& row) { return unpackSchema(row.blob(1), impl_->stringOf()); });
  });
}

int64_t Reader::schemaCount() const {
  return impl_->guarded([&] { return impl_->database.integer("SELECT count(*) FROM schema"); });
}

const TensorType& Reader::type(TypeId id) const {
  return impl_->guarded([&]() -> const TensorType& {
    return impl_->lookUp(impl_->types, id.value,
                         "SELECT id, packed FROM type WHERE id > ? ORDER BY id",
                         [](auto& row) { return unpackType(row.blob(1)); });
  });
}

const Stack& Reader::stack(StackId id) const {
  return impl_->guarded([&]() -> const Stack& {
    return impl_->lookUp(impl_->stacks, id.value,
                         "SELECT id, packed FROM stack WHERE id > ? ORDER BY id",
                         [&](auto& row) { return unpackStack(row.blob(1), impl_->stringOf()); });
  });
}

const Provenance& Reader::provenance(ProvenanceId id) const {
  return impl_->guarded([&]() -> const Provenance& {
    return impl_->lookUp(
        impl_->provenances, id.value, "SELECT id, packed FROM provenance WHERE id > ? ORDER BY id",
        [&](auto& row) { return unpackProvenance(row.blob(1), impl_->stringOf()); });
  });
}

const std::vector<Scalar>& Reader::scalars(ScalarsId id) const {
  return impl_->guarded([&]() -> const std::vector<Scalar>& {
    return impl_->lookUp(impl_->scalars, id.value,
                         "SELECT id, packed FROM scalars WHERE id > ? ORDER BY id",
                         [](auto& row) { return unpackScalars(row.blob(1)); });
  });
}

const std::vector<Region>& Reader::regions() const {
  return impl_->guarded([&]() -> const std::vector<Region>& {
    impl_->loadRegions();
    return *impl_->regions.back();
  });
}

const Region& Reader::region(RegionId id) const {
  static const Region none;
  return impl_->guarded([&]() -> const Region& {
    if (impl_->regions.empty()) impl_->loadRegions();
    for (bool refreshed = false;; refreshed = true) {
      const std::vector<Region>& all = *impl_->regions.back();
      const auto found =
          std::lower_bound(all.begin(), all.end(), id,
                           [](const Region& region, RegionId value) { return region.id < value; });
      if (found != all.end() && found->id == id) return *found;
      if (refreshed || !id || !impl_->trace.live) return none;
      impl_->loadRegions();
    }
  });
}

void Reader::readOps(OpId first, int64_t limit, OpTable& out) const {
  impl_->guarded([&] {
    impl_->refreshChunks();
    if (limit <= 0) return;
    // Chunks overlap a little: what is below the next chunk's first op is in place.
    OpTable table;
    const auto& chunks = impl_->chunks;
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (chunks[i].last < first) continue;
      if (static_cast<int64_t>(table.ops.size()) >= limit) {
        const auto settled = std::count_if(table.ops.begin(), table.ops.end(), [&](const Op& op) {
          return op.id >= first && op.id < chunks[i].first;
        });
        if (settled >= limit) break;
      }
      impl_->readChunk(chunks[i], table);
    }
    std::erase_if(table.ops, [&](const Op& op) { return op.id < first; });
    std::stable_sort(table.ops.begin(), table.ops.end(),
                     [](const Op& a, const Op& b) { return a.id < b.id; });
    if (static_cast<int64_t>(table.ops.size()) > limit)
      table.ops.resize(static_cast<size_t>(limit));
    for (Op op : table.ops) {
      const auto operands = table.of(op);
      op.firstOperand = static_cast<uint32_t>(out.operands.size());
      out.operands.insert(out.operands.end(), operands.begin(), operands.end());
      out.ops.push_back(op);
    }
  });
}

namespace {

/// Puts ops that chunks of several threads interleave in order; operands stay where they are.
void sortById(OpTable& table) {
  const auto less = [](const Op& a, const Op& b) { return a.id < b.id; };
  if (!std::is_sorted(table.ops.begin(), table.ops.end(), less)) {
    std::stable_sort(table.ops.begin(), table.ops.end(), less);
  }
}

}  // namespace

OpTable Reader::readAll() const {
  return impl_->guarded([&] {
    impl_->refreshChunks();
    OpTable table;
    impl_->reserve(table);
    for (const OpChunk& chunk : impl_->chunks) impl_->readChunk(chunk, table);
    sortById(table);
    return table;
  });
}

OpTable Reader::readStep(int32_t step) const {
  return impl_->guarded([&] {
    impl_->refreshChunks();
    OpTable table;
    for (const OpChunk& chunk : impl_->chunks) {
      if (chunk.step == step) impl_->readChunk(chunk, table);
    }
    sortById(table);
    return table;
  });
}

std::vector<int32_t> Reader::steps() const {
  return impl_->guarded([&] {
    impl_->refreshChunks();
    std::vector<int32_t> steps;
    for (const OpChunk& chunk : impl_->chunks) steps.push_back(chunk.step);
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
  });
}

Digest Reader::digest(FingerprintId id) const {
  return impl_->guarded([&] {
    auto& digests = impl_->digests;
    if (id.value <= 0) return Digest{};
    if (id.value > static_cast<int64_t>(digests.size()) &&
        (!impl_->digestsLoaded || impl_->trace.live)) {
      impl_->loadDigests();
    }
    if (id.value > static_cast<int64_t>(digests.size())) return Digest{};
    return digests[static_cast<size_t>(id.value - 1)];
  });
}

Fingerprint Reader::fingerprint(FingerprintId id) const {
  return impl_->guarded([&] {
    const Fingerprint* found = impl_->fingerprint(id);
    return found != nullptr ? *found : Fingerprint{};
  });
}

std::pair<std::string, std::string> Reader::module(const Op& op) const {
  return impl_->guarded([&]() -> std::pair<std::string, std::string> {
    const ModuleIndex& modules = impl_->modules(op.id);
    RegionId id = modules.moduleOf(op.region);
    if (!id && op.phase == Phase::backward) id = modules.moduleOfForward(op);
    if (!id) return {};
    const Region& region = this->region(id);
    return {region.name, region.detail};
  });
}

}  // namespace ulpscope
