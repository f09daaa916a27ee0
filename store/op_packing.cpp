#include "store/op_packing.h"

#include <algorithm>

namespace ulpscope {
namespace {

// The order of columns is part of the format; new ones go to the end.
enum OpColumn : size_t {
  kBits,  // kind | phase << 4 | raised << 7
  kId,
  kParent,
  kThread,
  kRegion,
  kSchema,
  kScalars,
  kStack,
  kProvenance,
  kSequence,
  kForwardThread,
  kOperands,
  kOpColumnCount,
};

enum OperandColumn : size_t {
  kRole,  // role | closure << 2 | skip << 4
  kFlags,
  kArg,
  kItem,
  kType,
  kFingerprint,
  kStorage,
  kOffset,
  kWriter,
  kOperandColumnCount,
};

enum RegionColumn : size_t {
  kRegionKind,
  kRegionId,
  kRegionParent,
  kRegionThread,
  kRegionStep,
  kRegionBegin,
  kRegionSequence,
  kRegionName,
  kRegionDetail,
  kRegionColumnCount,
};

/// 0: none (`none` itself); else the difference to `base`.
uint64_t optional(int64_t value, int64_t none, int64_t base) {
  return value == none ? 0 : zigzag(wrappingSubtract(value, base)) + 1;
}
int64_t fromOptional(uint64_t packed, int64_t none, int64_t base) {
  return packed == 0 ? none : wrappingAdd(base, unzigzag(packed - 1));
}

/// The columns of a block. A column that is not there, or that is empty, gives zeros.
template <size_t N>
class ColumnReader {
 public:
  explicit ColumnReader(std::span<const std::byte> block) {
    ByteReader in(block);
    const size_t count = in.count(1);
    for (size_t i = 0; i < count; ++i) {
      const auto column = in.raw(in.varint());
      if (i >= N || column.empty()) continue;
      columns_[i] = ByteReader(column);
      present_[i] = true;
    }
  }
  uint64_t varint(size_t index) { return present_[index] ? columns_[index].varint() : 0; }
  int64_t signedVarint(size_t index) { return unzigzag(varint(index)); }
  uint8_t u8(size_t index) { return present_[index] ? columns_[index].u8() : uint8_t{0}; }

 private:
  std::array<ByteReader, N> columns_;
  std::array<bool, N> present_{};
};

template <class Id>
Id narrow(uint64_t value) {
  return {static_cast<decltype(Id::value)>(value)};
}

/// Readers switch over enums and index by them: none that this version does not know gets through.
template <class Enum>
Enum checked(Enum value, Enum last) {
  if (value > last) throw Malformed{"unknown kind"};
  return value;
}

template <class Consume>
void unpackOpColumns(const OpChunk& chunk, std::span<const std::byte> block, Consume&& consume) {
  if (chunk.count < 0 || chunk.count > kMostOpsOfChunk) throw Malformed{"a count is impossible"};
  ColumnReader<kOpColumnCount> in(block);
  int64_t previous = wrappingSubtract(chunk.first.value, 1);
  int64_t region = 0;
  int64_t sequence = 0;
  for (int64_t i = 0; i < chunk.count; ++i) {
    Op op;
    const uint8_t bits = in.u8(kBits);
    op.kind = checked(static_cast<OpKind>(bits & 15), OpKind::collective);
    op.phase = checked(static_cast<Phase>(bits >> 4 & 7), Phase::optimizer);
    op.raised = (bits & 0x80) != 0;
    op.id.value = wrappingAdd(wrappingAdd(previous, 1), in.signedVarint(kId));
    previous = op.id.value;
    op.parent.value = fromOptional(in.varint(kParent), 0, op.id.value);
    op.thread = static_cast<uint32_t>(in.varint(kThread));
    op.step = chunk.step;
    op.region.value = fromOptional(in.varint(kRegion), 0, region);
    if (op.region) region = op.region.value;
    op.schema = narrow<SchemaId>(in.varint(kSchema));
    op.scalars = narrow<ScalarsId>(in.varint(kScalars));
    op.stack = narrow<StackId>(in.varint(kStack));
    op.provenance = narrow<ProvenanceId>(in.varint(kProvenance));
    op.sequence = fromOptional(in.varint(kSequence), -1, sequence);
    if (op.sequence != -1) sequence = op.sequence;
    op.forwardThread = static_cast<uint32_t>(in.varint(kForwardThread));
    op.operandCount = static_cast<uint32_t>(in.varint(kOperands));
    consume(op);
  }
}

}  // namespace

void OpChunkPacker::endOp() {
  if (count_ != 0) ops_[kOperands].varint(operandsOfOp_);
  operandsOfOp_ = 0;
}

void OpChunkPacker::addOp(const Op& op) {
  endOp();
  if (count_ == 0) {
    first_ = op.id;
    step_ = op.step;
    previous_ = wrappingSubtract(op.id.value, 1);
  }
  ++count_;
  ops_[kBits].u8(static_cast<uint8_t>((static_cast<unsigned>(op.kind) & 15) |
                                      (static_cast<unsigned>(op.phase) & 7) << 4 |
                                      static_cast<unsigned>(op.raised) << 7));
  ops_[kId].signedVarint(wrappingSubtract(op.id.value, wrappingAdd(previous_, 1)));
  previous_ = op.id.value;
  ops_[kParent].varint(optional(op.parent.value, 0, op.id.value));
  ops_[kThread].varint(op.thread);
  ops_[kRegion].varint(optional(op.region.value, 0, region_));
  if (op.region) region_ = op.region.value;
  ops_[kSchema].varint(op.schema.value);
  ops_[kScalars].varint(op.scalars.value);
  ops_[kStack].varint(op.stack.value);
  ops_[kProvenance].varint(op.provenance.value);
  ops_[kSequence].varint(optional(op.sequence, -1, sequence_));
  if (op.sequence != -1) sequence_ = op.sequence;
  ops_[kForwardThread].varint(op.forwardThread);
}

void OpChunkPacker::addOperand(const Operand& operand) {
  ++operandsOfOp_;
  ++operandCount_;
  operands_[kRole].u8(static_cast<uint8_t>((static_cast<unsigned>(operand.role) & 3) |
                                           (static_cast<unsigned>(operand.closure) & 3) << 2 |
                                           (static_cast<unsigned>(operand.skip) & 15) << 4));
  operands_[kFlags].u8(operand.flags);
  operands_[kArg].signedVarint(operand.arg);
  operands_[kItem].signedVarint(int64_t{operand.item} + 1);
  operands_[kType].varint(operand.type.value);
  operands_[kFingerprint].varint(optional(operand.fingerprint.value, 0, fingerprint_));
  fingerprint_ = std::max(fingerprint_, operand.fingerprint.value);
  operands_[kStorage].varint(optional(operand.storage.value, 0, storage_));
  storage_ = std::max(storage_, operand.storage.value);
  operands_[kOffset].signedVarint(operand.offset);
  operands_[kWriter].varint(optional(operand.writer.value, 0, previous_));
}

void OpChunkPacker::finish(ByteWriter& ops, ByteWriter& operands) {
  endOp();
  ops_.finish(ops);
  operands_.finish(operands);
  count_ = 0;
  operandCount_ = 0;
  region_ = sequence_ = storage_ = fingerprint_ = 0;
}

void unpackOpsOnly(const OpChunk& chunk, std::span<const std::byte> ops, std::vector<Op>& out) {
  unpackOpColumns(chunk, ops, [&](const Op& op) { out.push_back(op); });
}

void unpackOps(const OpChunk& chunk, std::span<const std::byte> ops,
               std::span<const std::byte> operands, OpTable& out) {
  if (chunk.operandCount < 0 || chunk.operandCount > kMostOperandsOfChunk) {
    throw Malformed{"a count is impossible"};
  }
  ColumnReader<kOperandColumnCount> in(operands);
  int64_t storage = 0;
  int64_t fingerprint = 0;
  int64_t left = chunk.operandCount;
  unpackOpColumns(chunk, ops, [&](Op& op) {
    if (op.operandCount > left) throw Malformed{"operands are missing"};
    left -= op.operandCount;
    op.firstOperand = static_cast<uint32_t>(out.operands.size());
    out.ops.push_back(op);
    for (uint32_t i = 0; i < op.operandCount; ++i) {
      Operand& operand = out.operands.emplace_back();
      const uint8_t role = in.u8(kRole);
      operand.role = static_cast<Role>(role & 3);
      operand.closure = static_cast<Closure>(role >> 2 & 3);
      operand.skip = checked(static_cast<SkipReason>(role >> 4), SkipReason::trusted);
      operand.flags = in.u8(kFlags);
      operand.arg = static_cast<int16_t>(in.signedVarint(kArg));
      operand.item = static_cast<int16_t>(wrappingSubtract(in.signedVarint(kItem), 1));
      operand.type = narrow<TypeId>(in.varint(kType));
      operand.fingerprint.value = fromOptional(in.varint(kFingerprint), 0, fingerprint);
      fingerprint = std::max(fingerprint, operand.fingerprint.value);
      operand.storage.value = fromOptional(in.varint(kStorage), 0, storage);
      storage = std::max(storage, operand.storage.value);
      operand.offset = in.signedVarint(kOffset);
      operand.writer.value = fromOptional(in.varint(kWriter), 0, op.id.value);
    }
  });
}

void RegionChunkPacker::add(const RawRegion& region) {
  ++count_;
  columns_[kRegionKind].u8(static_cast<uint8_t>(region.kind));
  columns_[kRegionId].signedVarint(wrappingSubtract(region.id.value, previous_.id.value));
  columns_[kRegionParent].varint(optional(region.parent.value, 0, region.id.value));
  columns_[kRegionThread].varint(region.thread);
  columns_[kRegionStep].signedVarint(int64_t{region.step} - previous_.step);
  columns_[kRegionBegin].signedVarint(wrappingSubtract(region.begin.value, previous_.begin.value));
  columns_[kRegionSequence].varint(optional(region.sequence, -1, previous_.sequence));
  columns_[kRegionName].varint(region.name.value);
  columns_[kRegionDetail].varint(region.detail.value);
  previous_ = region;
}

void RegionChunkPacker::finish(ByteWriter& out) {
  columns_.finish(out);
  count_ = 0;
  previous_ = {};
}

std::vector<RawRegion> unpackRegions(int64_t count, std::span<const std::byte> packed) {
  if (count < 0 || count > kMostOpsOfChunk) throw Malformed{"a count is impossible"};
  ColumnReader<kRegionColumnCount> in(packed);
  std::vector<RawRegion> regions;
  RawRegion previous;
  for (int64_t i = 0; i < count; ++i) {
    RawRegion region;
    region.kind = checked(static_cast<RegionKind>(in.u8(kRegionKind)), RegionKind::higherOrder);
    region.id.value = wrappingAdd(previous.id.value, in.signedVarint(kRegionId));
    region.parent.value = fromOptional(in.varint(kRegionParent), 0, region.id.value);
    region.thread = static_cast<uint32_t>(in.varint(kRegionThread));
    region.step = static_cast<int32_t>(wrappingAdd(previous.step, in.signedVarint(kRegionStep)));
    region.begin.value = wrappingAdd(previous.begin.value, in.signedVarint(kRegionBegin));
    region.sequence = fromOptional(in.varint(kRegionSequence), -1, previous.sequence);
    region.name = narrow<StringId>(in.varint(kRegionName));
    region.detail = narrow<StringId>(in.varint(kRegionDetail));
    regions.push_back(region);
    previous = region;
  }
  return regions;
}

}  // namespace ulpscope
