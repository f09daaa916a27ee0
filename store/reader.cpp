#include "store/reader.h"

#include <charconv>
#include <new>
#include <optional>
#include <stdexcept>

#include "store/capture_table.h"
#include "store/coverage_counter.h"
#include "store/fingerprint_table.h"
#include "store/module_index.h"
#include "store/op_index.h"
#include "store/open_trace.h"
#include "store/record_tables.h"

namespace ulpscope {
namespace {

using Code = TraceError::Code;

/// Runs `body`; whatever it meets in the file becomes a TraceError that names it.
template <class Body>
auto reading(const std::string& path, Body&& body) -> decltype(body()) {
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

}  // namespace

struct Reader::Impl {
  explicit Impl(const std::string& path)
      : path(path),
        trace(path),
        records(trace.database, trace.live),
        ops(trace.database),
        fingerprints(trace.database, trace.live),
        captures(trace.database, trace.formatVersion >= 2, trace.live) {
    const std::string version = value("header", "fingerprint_version");
    std::from_chars(version.data(), version.data() + version.size(), fingerprintVersion);
  }

  std::string value(const std::string& table, const std::string& key) {
    sqlite::Statement row(trace.database, "SELECT value FROM " + table + " WHERE key = ?");
    row.bind(1, key);
    return row.step() ? std::string(row.text(0)) : std::string();
  }
  OpIndex& upToDateOps() {
    if (trace.live) ops.refresh();
    return ops;
  }
  bool complete() { return !value("header", "complete").empty(); }
  Coverage recordedCoverage();
  Coverage countedCoverage();
  const ModuleIndex& modules(OpId upTo);

  std::string path;
  OpenTrace trace;
  int fingerprintVersion = 0;
  RecordTables records;
  OpIndex ops;
  FingerprintTable fingerprints;
  CaptureTable captures;
  std::optional<std::vector<KeyValue>> environment;
  std::optional<ModuleIndex> moduleIndex;
  OpId moduleIndexEnd;
};

Coverage Reader::Impl::recordedCoverage() {
  Coverage coverage;
  sqlite::Statement rows(trace.database, "SELECT key, value FROM coverage ORDER BY rowid");
  while (rows.step()) {
    const std::string key(rows.text(0));
    const auto value = static_cast<uint64_t>(rows.integer(1));
    constexpr std::string_view kSkipped = "skipped.";
    if (key == "ops") coverage.ops = value;
    if (key == "kernels") coverage.kernels = value;
    if (key == "tensors") coverage.tensors = value;
    if (key == "hashed") coverage.hashed = value;
    if (key == "closure.matched") coverage.closureMatched = value;
    if (key == "closure.broken") coverage.closureBroken = value;
    if (key == "closure.unchecked") coverage.closureUnchecked = value;
    if (key == "closure.source") coverage.closureSource = value;
    if (key.starts_with(kSkipped)) {
      coverage.skipped.emplace_back(key.substr(kSkipped.size()), value);
    }
  }
  return coverage;
}

Coverage Reader::Impl::countedCoverage() {
  CoverageCounter counter;
  upToDateOps().forEachChunk([&](const OpTable& table) {
    for (const Op& op : table.ops) counter.add(op.kind);
    for (const Operand& operand : table.operands) {
      counter.add(operand.role, operand.skip, operand.closure,
                  static_cast<bool>(operand.fingerprint));
    }
  });
  return counter.result();
}

const ModuleIndex& Reader::Impl::modules(OpId upTo) {
  if (moduleIndex && (upTo <= moduleIndexEnd || !trace.live)) return *moduleIndex;
  upToDateOps();
  ModuleIndex index(records.regions());
  ops.forEachChunkOfOps([&](const std::vector<Op>& chunk) {
    for (const Op& op : chunk) index.addForward(op);
  });
  moduleIndexEnd = ops.lastOp();
  return moduleIndex.emplace(std::move(index));
}

Reader::Reader(const std::string& path)
    : impl_(reading(path, [&] { return std::make_unique<Impl>(path); })) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

const std::string& Reader::path() const {
  return impl_->path;
}
int Reader::formatVersion() const {
  return impl_->trace.formatVersion;
}
int Reader::fingerprintVersion() const {
  return impl_->fingerprintVersion;
}

bool Reader::complete() const {
  return reading(path(), [&] { return impl_->complete(); });
}

std::string Reader::meta(const std::string& key) const {
  return reading(path(), [&] { return impl_->value("meta", key); });
}

const std::vector<KeyValue>& Reader::environment() const {
  return reading(path(), [&]() -> const std::vector<KeyValue>& {
    if (!impl_->environment || impl_->trace.live) {
      sqlite::Statement rows(impl_->trace.database,
                             "SELECT key, value FROM environment ORDER BY rowid");
      std::vector<KeyValue> all;
      while (rows.step()) all.push_back({std::string(rows.text(0)), std::string(rows.text(1))});
      impl_->environment = std::move(all);
    }
    return *impl_->environment;
  });
}

Coverage Reader::coverage() const {
  return reading(path(), [&] {
    return impl_->complete() ? impl_->recordedCoverage() : impl_->countedCoverage();
  });
}

std::vector<Event> Reader::events() const {
  return reading(path(), [&] {
    std::vector<Event> events;
    sqlite::Statement rows(impl_->trace.database, "SELECT at, kind, text FROM event ORDER BY id");
    while (rows.step()) {
      events.push_back({{rows.integer(0)}, std::string(rows.text(1)), std::string(rows.text(2))});
    }
    return events;
  });
}

int64_t Reader::opCount() const {
  return reading(path(), [&] { return impl_->upToDateOps().opCount(); });
}

OpId Reader::lastOp() const {
  return reading(path(), [&] { return impl_->upToDateOps().lastOp(); });
}

const Schema& Reader::schema(SchemaId id) const {
  return reading(path(), [&]() -> const Schema& { return impl_->records.schema(id); });
}

const TensorType& Reader::type(TypeId id) const {
  return reading(path(), [&]() -> const TensorType& { return impl_->records.type(id); });
}

const Stack& Reader::stack(StackId id) const {
  return reading(path(), [&]() -> const Stack& { return impl_->records.stack(id); });
}

const Provenance& Reader::provenance(ProvenanceId id) const {
  return reading(path(), [&]() -> const Provenance& { return impl_->records.provenance(id); });
}

const std::vector<Scalar>& Reader::scalars(ScalarsId id) const {
  return reading(path(),
                 [&]() -> const std::vector<Scalar>& { return impl_->records.scalars(id); });
}

const Region& Reader::region(RegionId id) const {
  return reading(path(), [&]() -> const Region& { return impl_->records.region(id); });
}

const std::vector<Region>& Reader::regions() const {
  return reading(path(), [&]() -> const std::vector<Region>& { return impl_->records.regions(); });
}

int64_t Reader::schemaCount() const {
  return reading(path(),
                 [&] { return impl_->trace.database.integer("SELECT count(*) FROM schema"); });
}

void Reader::readOps(OpId first, int64_t limit, OpTable& out) const {
  reading(path(), [&] { impl_->upToDateOps().readFrom(first, limit, out); });
}

OpTable Reader::readAll() const {
  return reading(path(), [&] {
    OpTable table;
    impl_->upToDateOps().readAll(table);
    return table;
  });
}

OpTable Reader::readStep(int32_t step) const {
  return reading(path(), [&] {
    OpTable table;
    impl_->upToDateOps().readStep(step, table);
    return table;
  });
}

std::vector<int32_t> Reader::steps() const {
  return reading(path(), [&] { return impl_->upToDateOps().steps(); });
}

Digest Reader::digest(FingerprintId id) const {
  return reading(path(), [&] { return impl_->fingerprints.digest(id); });
}

Fingerprint Reader::fingerprint(FingerprintId id) const {
  return reading(path(), [&] { return impl_->fingerprints.fingerprint(id); });
}

bool Reader::captured(FingerprintId id) const {
  return reading(path(), [&] { return id && impl_->captures.has(impl_->fingerprints.digest(id)); });
}

std::optional<std::vector<std::byte>> Reader::values(FingerprintId id) const {
  return reading(path(), [&]() -> std::optional<std::vector<std::byte>> {
    if (!id) return {};
    return impl_->captures.values(impl_->fingerprints.digest(id));
  });
}

std::pair<std::string, std::string> Reader::module(const Op& op) const {
  return reading(path(), [&]() -> std::pair<std::string, std::string> {
    const ModuleIndex& modules = impl_->modules(op.id);
    RegionId id = modules.moduleOf(op.region);
    if (!id && op.phase == Phase::backward) id = modules.moduleOfForward(op);
    if (!id) return {};
    const Region& region = impl_->records.region(id);
    return {region.name, region.detail};
  });
}

}  // namespace ulpscope
