#include "store/interner.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <utility>

#include "store/record_packing.h"

namespace ulpscope {

void PendingRow::write(TraceFile& file) const {
  const auto small = static_cast<uint32_t>(id);
  const auto packed = std::as_bytes(std::span(a.data(), a.size()));
  switch (kind) {
    case Kind::string:
      return file.addString({small}, a);
    case Kind::schema:
      return file.addSchema({small}, packed);
    case Kind::stack:
      return file.addStack({small}, packed);
    case Kind::provenance:
      return file.addProvenance({small}, packed);
    case Kind::environment:
      return file.setEnvironment(a, b);
    case Kind::meta:
      return file.setMeta(a, b);
    case Kind::event:
      return file.addEvent({id}, a, b);
  }
}

uint32_t Interner::intern(Known& known, PendingRow::Kind kind, std::span<const std::byte> value) {
  const XXH128_hash_t hash = XXH3_128bits(value.data(), value.size());
  const Key128 key{hash.low64, hash.high64};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const auto id = static_cast<uint32_t>(known.size() + 1);
  // The row first: an id without a row would be worse than a row without an id.
  add({kind, id, std::string(reinterpret_cast<const char*>(value.data()), value.size()), {}});
  known.emplace(key, id);
  return id;
}

void Interner::add(PendingRow row) {
  if (!closed_) pending_.push_back(std::move(row));
}

StringId Interner::lockedString(std::string_view text) {
  return {intern(strings_, PendingRow::Kind::string,
                 std::as_bytes(std::span(text.data(), text.size())))};
}

StringId Interner::string(std::string_view text) {
  const std::lock_guard lock(mutex_);
  return lockedString(text);
}

SchemaId Interner::schema(const Schema& schema) {
  const std::lock_guard lock(mutex_);
  packed_.clear();
  packSchema(
      schema, [this](std::string_view text) { return lockedString(text); }, packed_);
  return {intern(schemas_, PendingRow::Kind::schema, packed_.bytes())};
}

StackId Interner::stack(const Stack& stack) {
  const std::lock_guard lock(mutex_);
  packed_.clear();
  packStack(
      stack, [this](std::string_view text) { return lockedString(text); }, packed_);
  return {intern(stacks_, PendingRow::Kind::stack, packed_.bytes())};
}

ProvenanceId Interner::provenance(const Provenance& provenance) {
  const std::lock_guard lock(mutex_);
  packed_.clear();
  packProvenance(
      provenance, [this](std::string_view text) { return lockedString(text); }, packed_);
  return {intern(provenances_, PendingRow::Kind::provenance, packed_.bytes())};
}

void Interner::environment(std::string_view key, std::string_view value) {
  const std::lock_guard lock(mutex_);
  add({PendingRow::Kind::environment, 0, std::string(key), std::string(value)});
}

void Interner::meta(std::string_view key, std::string_view value) {
  const std::lock_guard lock(mutex_);
  add({PendingRow::Kind::meta, 0, std::string(key), std::string(value)});
}

void Interner::event(OpId at, std::string_view kind, std::string_view text) {
  const std::lock_guard lock(mutex_);
  add({PendingRow::Kind::event, at.value, std::string(kind), std::string(text)});
}

std::vector<PendingRow> Interner::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(pending_, {});
}

void Interner::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  pending_.clear();
}

}  // namespace ulpscope
