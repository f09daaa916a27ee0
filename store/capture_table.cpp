#include "store/capture_table.h"

#include <algorithm>
#include <cstring>

#include "store/bytes.h"
#include "store/format.h"

namespace ulpscope {
namespace {

/// Parts of `bytes` bytes.
int64_t partsOf(int64_t bytes) { return bytes / kCapturePartBytes + (bytes % kCapturePartBytes != 0); }

/// Of bytes in a row: digests do not depend on the dtype.
Digest digestOf(const std::vector<std::byte>& bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  const StridedView view{.data = bytes.data(), .dtype = DType::UInt8, .dim = 1, .sizes = &count};
  return fingerprint(view, Level::digest).digest;
}

}  // namespace

bool CaptureTable::Parts::whole() const {
  return partsOf(bytes) == static_cast<int64_t>(rows.size()) &&
         std::find(rows.begin(), rows.end(), 0) == rows.end();
}

CaptureTable::CaptureTable(sqlite::Database& database, bool present, bool live)
    : database_(database), present_(present), live_(live) {}

void CaptureTable::load() {
  loaded_ = true;
  if (!present_) return;
  sqlite::Statement rows(database_,
                         "SELECT id, digest, part, bytes FROM capture WHERE id > ? ORDER BY id");
  rows.bind(1, lastRow_);
  while (rows.step()) {
    lastRow_ = rows.integer(0);
    const auto packed = rows.blob(1);
    const int64_t part = rows.integer(2);
    const int64_t bytes = rows.integer(3);
    if (packed.size() != sizeof(Digest) || bytes <= 0 || part < 0 || part >= partsOf(bytes)) {
      throw Malformed{"captured values are damaged"};
    }
    Digest digest;
    std::memcpy(&digest, packed.data(), sizeof digest);
    Parts& parts = parts_[digest];
    // Parts come in order, but for those of equal tensors that two threads captured at once.
    if (part > static_cast<int64_t>(parts.rows.size())) throw Malformed{"rows are missing"};
    parts.bytes = bytes;
    if (part == static_cast<int64_t>(parts.rows.size())) parts.rows.push_back(lastRow_);
  }
}

const CaptureTable::Parts* CaptureTable::find(const Digest& digest) {
  if (!loaded_) load();
  for (bool refreshed = false;; refreshed = true) {
    const auto found = parts_.find(digest);
    if (found != parts_.end() && found->second.whole()) return &found->second;
    if (refreshed || !live_) return nullptr;
    load();
  }
}

bool CaptureTable::has(const Digest& digest) { return find(digest) != nullptr; }

std::optional<std::vector<std::byte>> CaptureTable::values(const Digest& digest) {
  const Parts* parts = find(digest);
  if (parts == nullptr) return {};
  std::vector<std::byte> values;
  sqlite::Statement row(database_, "SELECT packed FROM capture WHERE id = ?");
  for (const int64_t id : parts->rows) {
    row.bind(1, id);
    if (!row.step()) throw Malformed{"rows are missing"};
    const auto part = decompressor_.decompress(row.blob(0));
    const int64_t left = parts->bytes - static_cast<int64_t>(values.size());
    if (static_cast<int64_t>(part.size()) != std::min(left, kCapturePartBytes)) {
      throw Malformed{"captured values are damaged"};
    }
    values.insert(values.end(), part.begin(), part.end());
    row.reset();
  }
  if (!(digestOf(values) == digest)) return {};
  return values;
}

}  // namespace ulpscope
