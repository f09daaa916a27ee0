#include "store/fingerprint_table.h"

#include <algorithm>
#include <cstring>

#include "store/fingerprint_packing.h"

namespace ulpscope {
namespace {

// Decoded chunks that are kept: consecutive ops refer to few of them.
constexpr size_t kKeptChunks = 32;

// How many digests are read beyond the one that is asked for, so that reading on costs few queries.
constexpr int64_t kDigestsAhead = 1 << 16;

}  // namespace

FingerprintTable::FingerprintTable(sqlite::Database& database, bool live)
    : database_(database),
      rests_(database, "SELECT rests FROM fingerprint WHERE first = ?"),
      live_(live) {}

void FingerprintTable::load(int64_t until) {
  sqlite::Statement rows(
      database_, "SELECT first, count, digests FROM fingerprint WHERE first > ? ORDER BY first");
  rows.bind(1, static_cast<int64_t>(digests_.size()));
  while (static_cast<int64_t>(digests_.size()) < until + kDigestsAhead) {
    if (!rows.step()) {
      loaded_ = true;
      return;
    }
    const int64_t first = rows.integer(0);
    const int64_t count = rows.integer(1);
    const auto packed = rows.blob(2);
    if (first != static_cast<int64_t>(digests_.size()) + 1) throw Malformed{"rows are missing"};
    if (count <= 0 || packed.size() % sizeof(Digest) != 0 ||
        packed.size() / sizeof(Digest) != static_cast<uint64_t>(count)) {
      throw Malformed{"fingerprints are damaged"};
    }
    digests_.resize(digests_.size() + static_cast<size_t>(count));
    std::memcpy(digests_.data() + first - 1, packed.data(), packed.size());
    chunks_.push_back({first, count});
  }
}

bool FingerprintTable::has(FingerprintId id) {
  if (id.value <= 0) return false;
  const auto known = [&] { return id.value <= static_cast<int64_t>(digests_.size()); };
  if (!known() && (!loaded_ || live_)) load(id.value);
  return known();
}

Digest FingerprintTable::digest(FingerprintId id) {
  return has(id) ? digests_[static_cast<size_t>(id.value - 1)] : Digest{};
}

FingerprintTable::Decoded FingerprintTable::decode(const Chunk& chunk) {
  rests_.bind(1, chunk.first);
  if (!rests_.step()) throw Malformed{"rows are missing"};
  Decoded decoded{chunk.first, std::vector<Fingerprint>(static_cast<size_t>(chunk.count))};
  ByteReader in(rests_.blob(0));
  auto digest = digests_.begin() + static_cast<std::ptrdiff_t>(chunk.first - 1);
  for (Fingerprint& fingerprint : decoded.fingerprints) {
    fingerprint.digest = *digest++;
    unpackFingerprintRest(in, fingerprint);
  }
  rests_.reset();
  return decoded;
}

Fingerprint FingerprintTable::fingerprint(FingerprintId id) {
  for (const Decoded& chunk : decoded_) {
    if (chunk.has(id)) return chunk[id];
  }
  if (!has(id)) return {};
  const auto after =
      std::upper_bound(chunks_.begin(), chunks_.end(), id.value,
                       [](int64_t value, const Chunk& chunk) { return value < chunk.first; });
  Decoded next = decode(*std::prev(after));
  if (decoded_.size() == kKeptChunks) decoded_.pop_back();
  decoded_.push_front(std::move(next));
  return decoded_.front()[id];
}

}  // namespace ulpscope
