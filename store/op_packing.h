#pragma once

#include <array>

#include "store/bytes.h"
#include "store/event_buffer.h"
#include "store/reader.h"
#include "store/records.h"

/// Chunks of ops and of regions: one column of varints a field, as differences to what stands
/// before, so that the equal stretches of equal steps compress away. docs/trace-format.md,
/// "Chunks".
namespace ulpscope {

/// Columns of one block, length-prefixed; a column whose values are all 0 takes one byte.
template <size_t N>
class Columns {
 public:
  ByteWriter& operator[](size_t index) { return columns_[index]; }
  size_t size() const {
    size_t total = 0;
    for (const ByteWriter& column : columns_) total += column.size();
    return total;
  }
  /// Appends all columns to `out` and forgets them.
  void finish(ByteWriter& out) {
    out.varint(N);
    for (ByteWriter& column : columns_) {
      bool zero = true;
      for (std::byte byte : column.bytes()) zero = zero && byte == std::byte{0};
      out.varint(zero ? 0 : column.size());
      if (!zero) out.raw(column.bytes());
      column.clear();
    }
  }

 private:
  std::array<ByteWriter, N> columns_;
};

/// A chunk of consecutive ops of one step, being built.
class OpChunkPacker {
 public:
  /// Ops come in ascending order of id. firstOperand and operandCount are ignored: the operands are
  /// those added until the next op.
  void addOp(const Op& op);
  void addOperand(const Operand& operand);

  bool empty() const { return count_ == 0; }
  int64_t count() const { return count_; }
  int64_t operandCount() const { return operandCount_; }
  OpId first() const { return first_; }
  OpId last() const { return {previous_}; }
  int32_t step() const { return step_; }
  size_t bytes() const { return ops_.size() + operands_.size(); }

  /// Appends the two blocks and starts an empty chunk.
  void finish(ByteWriter& ops, ByteWriter& operands);

 private:
  static constexpr size_t kOpColumns = 12;
  static constexpr size_t kOperandColumns = 9;
  void endOp();

  Columns<kOpColumns> ops_;
  Columns<kOperandColumns> operands_;
  int64_t count_ = 0;
  int64_t operandCount_ = 0;
  OpId first_;
  int32_t step_ = 0;
  int64_t previous_ = 0;
  int64_t region_ = 0;
  int64_t sequence_ = 0;
  int64_t storage_ = 0;
  int64_t fingerprint_ = 0;
  uint64_t operandsOfOp_ = 0;
};

/// The most that a row can claim: the writer cuts a chunk far earlier, but for one op with all the
/// operands that an op can have.
inline constexpr int64_t kMostOpsOfChunk = int64_t{1} << 16;
inline constexpr int64_t kMostOperandsOfChunk = int64_t{1} << 18;

/// What a row of the op table says about its chunk.
struct OpChunk {
  int64_t row = 0;
  OpId first;
  OpId last;
  int32_t step = 0;
  int64_t count = 0;
  int64_t operandCount = 0;
};

/// Appends the chunk's ops (and their operands unless `operands` is empty). Throws Malformed.
void unpackOps(const OpChunk& chunk, std::span<const std::byte> ops,
               std::span<const std::byte> operands, OpTable& out);

/// As unpackOps, without operands: firstOperand is 0 and operandCount that of the op.
void unpackOpsOnly(const OpChunk& chunk, std::span<const std::byte> ops, std::vector<Op>& out);

class RegionChunkPacker {
 public:
  void add(const RawRegion& region);
  bool empty() const { return count_ == 0; }
  int64_t count() const { return count_; }
  void finish(ByteWriter& out);

 private:
  static constexpr size_t kColumns = 9;
  Columns<kColumns> columns_;
  int64_t count_ = 0;
  RawRegion previous_;
};

std::vector<RawRegion> unpackRegions(int64_t count, std::span<const std::byte> packed);

}  // namespace ulpscope
