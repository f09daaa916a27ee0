#pragma once

#include <vector>

#include "store/compression.h"
#include "store/op_packing.h"
#include "store/sqlite.h"

namespace ulpscope {

/// The op table for reading: which chunks there are, and ops by id or by step. Throws Malformed and
/// TraceError.
class OpIndex {
 public:
  explicit OpIndex(sqlite::Database& database);

  /// Looks for chunks that were written since.
  void refresh();

  int64_t opCount() const { return opCount_; }
  OpId lastOp() const { return lastOp_; }
  std::vector<int32_t> steps() const;

  // All of these append to `out`, in order of id.
  void readFrom(OpId first, int64_t limit, OpTable& out);
  void readAll(OpTable& out);
  void readStep(int32_t step, OpTable& out);

  /// Calls `visit` with an OpTable for each chunk, in order of the chunks' first ops.
  template <class Visit>
  void forEachChunk(Visit&& visit) {
    OpTable table;
    for (const OpChunk& chunk : chunks_) {
      table.ops.clear();
      table.operands.clear();
      read(chunk, table);
      visit(static_cast<const OpTable&>(table));
    }
  }
  /// As above, without operands: with the ops alone.
  template <class Visit>
  void forEachChunkOfOps(Visit&& visit) {
    std::vector<Op> ops;
    for (const OpChunk& chunk : chunks_) {
      ops.clear();
      readOpsOnly(chunk, ops);
      visit(static_cast<const std::vector<Op>&>(ops));
    }
  }

 private:
  void read(const OpChunk& chunk, OpTable& out);
  void readOpsOnly(const OpChunk& chunk, std::vector<Op>& out);

  sqlite::Database& database_;
  sqlite::Statement newChunks_;
  sqlite::Statement chunk_;
  Decompressor ops_;
  Decompressor operands_;

  std::vector<OpChunk> chunks_;  ///< in order of first op
  int64_t lastRow_ = 0;
  int64_t opCount_ = 0;
  int64_t operandCount_ = 0;
  OpId lastOp_;
};

}  // namespace ulpscope
