#include "store/op_index.h"

#include <algorithm>

#include "store/limits.h"

namespace ulpscope {
namespace {

bool earlier(const Op& a, const Op& b) {
  return a.id < b.id;
}

/// Chunks overlap where threads took turns or an op enclosed others. Operands stay where they are.
void sortById(OpTable& table, size_t from) {
  const auto begin = table.ops.begin() + static_cast<std::ptrdiff_t>(from);
  if (!std::is_sorted(begin, table.ops.end(), earlier)) {
    std::stable_sort(begin, table.ops.end(), earlier);
  }
}

}  // namespace

OpIndex::OpIndex(sqlite::Database& database)
    : database_(database),
      newChunks_(database,
                 "SELECT chunk, first, last, step, count, operand_count FROM op WHERE chunk > ? "
                 "ORDER BY chunk"),
      chunk_(database, "SELECT ops, operands FROM op WHERE chunk = ?") {
  refresh();
}

void OpIndex::refresh() {
  const size_t before = chunks_.size();
  newChunks_.bind(1, lastRow_);
  while (newChunks_.step()) {
    OpChunk chunk;
    chunk.row = newChunks_.integer(0);
    chunk.first.value = newChunks_.integer(1);
    chunk.last.value = newChunks_.integer(2);
    chunk.step = static_cast<int32_t>(newChunks_.integer(3));
    chunk.count = newChunks_.integer(4);
    chunk.operandCount = newChunks_.integer(5);
    if (chunk.count < 0 || chunk.operandCount < 0 || chunk.last < chunk.first ||
        chunk.count > kMostOpsOfChunk || chunk.operandCount > kMostOperandsOfChunk) {
      throw Malformed{"a count is impossible"};
    }
    lastRow_ = chunk.row;
    opCount_ += chunk.count;
    operandCount_ += chunk.operandCount;
    lastOp_ = std::max(lastOp_, chunk.last);
    chunks_.push_back(chunk);
  }
  if (chunks_.size() == before) return;
  checkRowCount(database_, opCount_);
  checkOperandCount(database_, operandCount_);
  std::stable_sort(chunks_.begin(), chunks_.end(),
                   [](const OpChunk& a, const OpChunk& b) { return a.first < b.first; });
}

void OpIndex::read(const OpChunk& chunk, OpTable& out) {
  chunk_.bind(1, chunk.row);
  if (!chunk_.step()) throw Malformed{"rows are missing"};
  const auto ops = ops_.decompress(chunk_.blob(0));
  const auto operands = operands_.decompress(chunk_.blob(1));
  unpackOps(chunk, ops, operands, out);
  chunk_.reset();
}

void OpIndex::readOpsOnly(const OpChunk& chunk, std::vector<Op>& out) {
  chunk_.bind(1, chunk.row);
  if (!chunk_.step()) throw Malformed{"rows are missing"};
  unpackOpsOnly(chunk, ops_.decompress(chunk_.blob(0)), out);
  chunk_.reset();
}

std::vector<int32_t> OpIndex::steps() const {
  std::vector<int32_t> steps;
  for (const OpChunk& chunk : chunks_) {
    if (steps.empty() || steps.back() != chunk.step) steps.push_back(chunk.step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

void OpIndex::readFrom(OpId first, int64_t limit, OpTable& out) {
  if (limit <= 0) return;
  OpTable table;
  for (const OpChunk& chunk : chunks_) {
    if (chunk.last < first) continue;
    if (static_cast<int64_t>(table.ops.size()) >= limit) {
      // No chunk from here on has an op below this one's first.
      const auto settled = std::count_if(table.ops.begin(), table.ops.end(), [&](const Op& op) {
        return op.id >= first && op.id < chunk.first;
      });
      if (settled >= limit) break;
    }
    read(chunk, table);
  }
  std::erase_if(table.ops, [&](const Op& op) { return op.id < first; });
  sortById(table, 0);
  if (static_cast<int64_t>(table.ops.size()) > limit) table.ops.resize(static_cast<size_t>(limit));
  for (Op op : table.ops) {
    const auto operands = table.of(op);
    op.firstOperand = static_cast<uint32_t>(out.operands.size());
    out.operands.insert(out.operands.end(), operands.begin(), operands.end());
    out.ops.push_back(op);
  }
}

void OpIndex::readAll(OpTable& out) {
  const size_t from = out.ops.size();
  out.ops.reserve(from + static_cast<size_t>(opCount_));
  out.operands.reserve(out.operands.size() + static_cast<size_t>(operandCount_));
  for (const OpChunk& chunk : chunks_) read(chunk, out);
  sortById(out, from);
}

void OpIndex::readStep(int32_t step, OpTable& out) {
  const size_t from = out.ops.size();
  for (const OpChunk& chunk : chunks_) {
    if (chunk.step == step) read(chunk, out);
  }
  sortById(out, from);
}

}  // namespace ulpscope
