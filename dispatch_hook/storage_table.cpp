#include "dispatch_hook/storage_table.h"

#include <c10/core/StorageImpl.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "dispatch_hook/spin_lock.h"

namespace ulpscope {

namespace {

constexpr size_t kSweepAt = 16;   // entries in a shard; few, so that dead ones stay in the cache
constexpr size_t kSightings = 4;  // views of one storage that are remembered between two writes

struct Sighting {
  uint64_t geometry = 0;
  bool fromWriter = false;
  Digest digest;
  std::unique_ptr<Fingerprint> content;
  ViewContent base;

  void set(const Fingerprint& seen, bool wrote, bool keep, const ViewContent& from) {
    fromWriter = wrote;
    digest = seen.digest;
    base = from;
    if (!keep) {
      content.reset();
    } else if (content == nullptr) {
      content = std::make_unique<Fingerprint>(seen);
    } else {
      *content = seen;
    }
  }
};

// StorageImpl's reference counts live in its base, whose weak count is all that is touched here.
c10::intrusive_ptr_target* target(const void* storage) {
  return static_cast<c10::StorageImpl*>(const_cast<void*>(storage));
}
void holdWeakly(const void* storage) { c10::raw::weak_intrusive_ptr::incref(target(storage)); }
void letGo(const void* storage) { c10::raw::weak_intrusive_ptr::decref(target(storage)); }
bool gone(const void* storage) {
  return c10::raw::weak_intrusive_ptr::use_count(target(storage)) == 0;
}

}  // namespace

struct StorageTable::Entry {
  StorageId id;
  OpId writer;
  bool uninitialised = false;
  bool parameter = false;
  uint8_t sightings = 0;
  uint8_t oldest = 0;
  uint64_t sample = 0;
  std::array<Sighting, kSightings> sighting;

  Sighting* find(uint64_t geometry) {
    for (size_t i = 0; i < sightings; ++i) {
      if (sighting[i].geometry == geometry) return &sighting[i];
    }
    return nullptr;
  }
  Sighting& add(uint64_t geometry) {
    if (Sighting* known = find(geometry)) return *known;
    Sighting& slot = sightings < kSightings ? sighting[sightings++]
                                            : sighting[oldest++ % kSightings];
    slot.geometry = geometry;
    return slot;
  }
};

struct StorageTable::Shard {
  SpinLock lock;
  std::unordered_map<const void*, Entry> entries;
  size_t sweepAt = kSweepAt;

  // Storages that have died: their data is freed already, this frees the rest.
  void sweep() {
    std::erase_if(entries, [](const auto& entry) {
      if (!gone(entry.first)) return false;
      letGo(entry.first);
      return true;
    });
    sweepAt = 2 * entries.size() + kSweepAt;
  }
};

StorageTable::StorageTable() : shards_(std::make_unique<std::array<Shard, kShards>>()) {}
StorageTable::~StorageTable() { clear(); }

StorageTable::Shard& StorageTable::shard(const void* storage) {
  const auto bits = reinterpret_cast<uintptr_t>(storage);
  return (*shards_)[((bits >> 5) * 0x9E3779B97F4A7C15u) >> 58];
}

StorageTable::Entry& StorageTable::find(Shard& shard, const void* storage) {
  const auto found = shard.entries.find(storage);
  if (found != shard.entries.end()) return found->second;
  if (shard.entries.size() >= shard.sweepAt) shard.sweep();
  Entry& made = shard.entries[storage];
  made.id = StorageId{next_.fetch_add(1, std::memory_order_relaxed)};
  holdWeakly(storage);
  return made;
}

void StorageTable::holdsParameter(const void* storage) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  find(in, storage).parameter = true;
}

bool StorageTable::isParameter(const void* storage) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  return find(in, storage).parameter;
}

StorageTable::Known StorageTable::look(const void* storage, uint64_t geometry) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  Entry& entry = find(in, storage);
  Known known{.id = entry.id,
              .writer = entry.writer,
              .uninitialised = entry.uninitialised,
              .parameter = entry.parameter,
              .sample = entry.sample};
  if (const Sighting* sighting = entry.find(geometry)) {
    known.seen = true;
    known.fromWriter = sighting->fromWriter;
    known.digest = sighting->digest;
    known.base = sighting->base;
    if (sighting->content != nullptr) {
      known.whole = true;
      known.content = *sighting->content;
    }
  }
  return known;
}

void StorageTable::saw(const void* storage, uint64_t geometry, const Fingerprint& content,
                       bool fromWriter, bool keep, const ViewContent& base) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  find(in, storage).add(geometry).set(content, fromWriter, keep, base);
}

void StorageTable::determine(const void* storage, uint64_t geometry, const ViewContent& base) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  if (Sighting* sighting = find(in, storage).find(geometry)) sighting->base = base;
}

StorageTable::Written StorageTable::wrote(const void* storage, OpId op, uint64_t geometry,
                                          const Fingerprint* content, bool keep) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  Entry& entry = find(in, storage);
  const OpId before = entry.writer;
  if (before != op) entry.sightings = 0;  // an op may write several parts of one storage
  entry.writer = op;
  entry.uninitialised = false;
  if (content != nullptr) entry.add(geometry).set(*content, true, keep, {});
  return {entry.id, before};
}

StorageId StorageTable::madeEmpty(const void* storage, uint64_t sample) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  Entry& entry = find(in, storage);
  entry.writer = {};
  entry.uninitialised = true;
  entry.sightings = 0;
  entry.sample = sample;
  return entry.id;
}

void StorageTable::filled(const void* storage) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  find(in, storage).uninitialised = false;
}

StorageId StorageTable::id(const void* storage) {
  Shard& in = shard(storage);
  const std::lock_guard guard(in.lock);
  return find(in, storage).id;
}

void StorageTable::clear() {
  for (Shard& each : *shards_) {
    const std::lock_guard guard(each.lock);
    for (const auto& entry : each.entries) letGo(entry.first);
    each.entries.clear();
  }
}

}  // namespace ulpscope
