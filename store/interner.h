#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/bytes.h"
#include "store/recent_map.h"
#include "store/records.h"
#include "store/trace_file.h"

namespace ulpscope {

/// A row that the program's threads gave and the writer's thread has not written yet.
struct PendingRow {
  enum class Kind : uint8_t { string, schema, stack, provenance, environment, meta, event };
  Kind kind;
  int64_t id = 0;
  std::string a;
  std::string b;

  void write(TraceFile& file) const;
};

/// Gives equal values equal ids, and keeps the new ones as rows until the writer's thread takes
/// them. Remembers hashes only. Thread-safe.
class Interner {
 public:
  StringId string(std::string_view text);
  SchemaId schema(const Schema& schema);
  StackId stack(const Stack& stack);
  ProvenanceId provenance(const Provenance& provenance);

  void environment(std::string_view key, std::string_view value);
  void meta(std::string_view key, std::string_view value);
  void event(OpId at, std::string_view kind, std::string_view text);

  /// The rows since the last call, in an order in which they can be written.
  std::vector<PendingRow> take();
  /// Nothing takes rows any more: forget those that are there and keep none that come.
  void close();

 private:
  struct KeyHash {
    size_t operator()(const Key128& key) const { return static_cast<size_t>(key.low); }
  };
  using Known = std::unordered_map<Key128, uint32_t, KeyHash>;

  uint32_t intern(Known& known, PendingRow::Kind kind, std::span<const std::byte> value);
  StringId lockedString(std::string_view text);
  void add(PendingRow row);

  std::mutex mutex_;
  Known strings_, schemas_, stacks_, provenances_;
  ByteWriter packed_;
  std::vector<PendingRow> pending_;
  bool closed_ = false;
};

}  // namespace ulpscope
