#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "store/records.h"

namespace ulpscope {

/// A view of a storage and the content that it had.
struct ViewContent {
  uint64_t geometry = 0;
  Digest digest;
};

/// What the recorder knows of the program's storages: who wrote each last, and which fingerprints
/// were seen of it since. A storage is a c10::StorageImpl, known by address and held by a weak
/// reference, so that its data is freed as always and its address is not used again while it is
/// listed. Thread-safe.
class StorageTable {
 public:
  StorageTable();
  ~StorageTable();

  struct Known {
    StorageId id;
    OpId writer;                 ///< the last recorded op that wrote it
    bool uninitialised = false;  ///< nobody wrote it since it was made empty
    bool parameter = false;
    uint64_t sample = 0;         ///< of the content at that time
    bool seen = false;           ///< with this geometry, since the last write
    bool fromWriter = false;     ///< and that is what the writer wrote
    Digest digest;               ///< where seen
    bool whole = false;          ///< `content` was kept
    Fingerprint content;
    ViewContent base;  ///< while this view has this content, the one that was asked for has `content`
  };
  /// `geometry` identifies a view's bytes and their order.
  Known look(const void* storage, uint64_t geometry);
  /// It holds a parameter, whatever tensors it is seen through later.
  void holdsParameter(const void* storage);
  bool isParameter(const void* storage);
  /// A reader saw this content. `keep`: all of it is kept, not only the digest.
  void saw(const void* storage, uint64_t geometry, const Fingerprint& content, bool fromWriter,
           bool keep, const ViewContent& base = {});
  /// The view `geometry`, where it was seen, is determined by `base`.
  void determine(const void* storage, uint64_t geometry, const ViewContent& base);
  struct Written {
    StorageId id;
    OpId before;  ///< who wrote it before this op
  };
  /// An op wrote the storage through a view; `content` is null where it is not known.
  Written wrote(const void* storage, OpId op, uint64_t geometry, const Fingerprint* content,
                bool keep);
  /// An op made (or grew) it without writing.
  StorageId madeEmpty(const void* storage, uint64_t sample);
  /// It turned out to be written outside the dispatcher after all.
  void filled(const void* storage);
  StorageId id(const void* storage);

  void clear();

 private:
  struct Entry;
  struct Shard;
  static constexpr size_t kShards = 64;
  Shard& shard(const void* storage);
  Entry& find(Shard& shard, const void* storage);
  std::unique_ptr<std::array<Shard, kShards>> shards_;
  std::atomic<int64_t> next_{1};
};

}  // namespace ulpscope
