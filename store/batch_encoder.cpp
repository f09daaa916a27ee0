#include "store/batch_encoder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "store/fingerprint_packing.h"
#include "store/record_packing.h"
#include "store/scalars.h"

namespace ulpscope {
namespace {

// Chunks large enough that SQLite's cost a row vanishes, small enough that one op is read quickly.
constexpr int64_t kOpsPerChunk = 1024;
constexpr size_t kBytesPerChunk = size_t{128} << 10;
constexpr int64_t kRegionsPerChunk = 2048;
constexpr int64_t kFingerprintsPerChunk = 256;
// An op that ends long after it started comes with a batch of far younger ones: by itself, it does
// not stretch their chunk over everything between.
constexpr int64_t kLargestGap = 4096;

Key128 keyOf(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace

void BatchEncoder::write(std::span<const EventBuffer> buffers) {
  batch_.clear();
  for (const EventBuffer& buffer : buffers) {
    EventReader(buffer.bytes())
        .read([&](const EventReader::OpRecord& record) { batch_.push_back(record); },
              [&](const RawRegion& region) {
                regions_.add(region);
                if (regions_.count() == kRegionsPerChunk) endRegions();
              });
  }
  // Threads take turns and enclosing ops end after what they enclose.
  std::stable_sort(batch_.begin(), batch_.end(),
                   [](const auto& a, const auto& b) { return a.op.id < b.op.id; });
  for (const EventReader::OpRecord& record : batch_) writeOp(record);
  endOps();
  endRegions();
  endFingerprints();
}

void BatchEncoder::writeOp(const EventReader::OpRecord& record) {
  const RawOp& raw = record.op;
  if (!ops_.empty() &&
      (ops_.count() >= kOpsPerChunk || ops_.bytes() >= kBytesPerChunk || ops_.step() != raw.step ||
       wrappingSubtract(raw.id.value, ops_.last().value) > kLargestGap)) {
    endOps();
  }
  Op op;
  op.id = raw.id;
  op.parent = raw.parent;
  op.kind = raw.kind;
  op.phase = raw.phase;
  op.raised = raw.raised;
  op.thread = raw.thread;
  op.step = raw.step;
  op.region = raw.region;
  op.schema = raw.schema;
  op.scalars = scalars(record.scalars);
  op.stack = raw.stack;
  op.provenance = raw.provenance;
  op.sequence = raw.sequence;
  op.forwardThread = raw.forwardThread;
  ops_.addOp(op);
  coverage_.add(op.kind);

  ByteReader in(record.operands);
  for (uint32_t i = 0; i < raw.operandCount; ++i) {
    readOperand(in, operand_);
    ops_.addOperand(operand(operand_));
  }
}

Operand BatchEncoder::operand(const OperandRecord& record) {
  const RawOperand& raw = record.operand;
  Operand operand;
  operand.role = raw.role;
  operand.skip = raw.skip;
  operand.closure = raw.closure;
  operand.flags = raw.flags;
  operand.arg = raw.arg;
  operand.item = raw.item;
  operand.type = type(record);
  if (raw.hasFingerprint) operand.fingerprint = fingerprint(raw.dtype, record.fingerprint);
  operand.storage = raw.storage;
  operand.offset = raw.offset;
  operand.writer = raw.writer;
  coverage_.add(raw.role, raw.skip, raw.closure, raw.hasFingerprint);
  return operand;
}

TypeId BatchEncoder::type(const OperandRecord& record) {
  const RawOperand& raw = record.operand;
  scratch_.clear();
  scratch_.u8(static_cast<uint8_t>(raw.dtype));
  scratch_.u8(static_cast<uint8_t>(raw.layout));
  scratch_.u8(raw.deviceType);
  scratch_.u8(static_cast<uint8_t>(raw.deviceIndex));
  scratch_.u8(raw.hasStrides);
  scratch_.raw(record.dims);
  const Key128 key = keyOf(scratch_.bytes());
  if (const int64_t known = types_.find(key)) return {static_cast<uint32_t>(known)};
  const TypeId id{++lastType_};
  types_.insert(key, id.value);
  scratch_.clear();
  packType(raw, record.sizes, record.strides, scratch_);
  file_.addType(id, scratch_.bytes());
  return id;
}

ScalarsId BatchEncoder::scalars(std::span<const std::byte> packed) {
  if (packed.empty()) return {};
  const Key128 key = keyOf(packed);
  if (const int64_t known = scalars_.find(key)) return {static_cast<uint32_t>(known)};
  checkScalars(packed);
  const ScalarsId id{++lastScalars_};
  scalars_.insert(key, id.value);
  file_.addScalars(id, packed);
  return id;
}

FingerprintId BatchEncoder::fingerprint(DType dtype, const Fingerprint& fingerprint) {
  // Equal bytes read as another dtype have other statistics.
  Key128 key{fingerprint.digest.low, fingerprint.digest.high};
  key.high ^= (static_cast<uint64_t>(dtype) << 8 | static_cast<uint64_t>(fingerprint.level)) + 1;
  if (const int64_t known = fingerprints_.find(key)) return {known};
  const FingerprintId id{++lastFingerprint_};
  fingerprints_.insert(key, id.value);
  digests_.fixed(fingerprint.digest.low);
  digests_.fixed(fingerprint.digest.high);
  packFingerprintRest(fingerprint, rests_);
  if (++fingerprintCount_ == kFingerprintsPerChunk) endFingerprints();
  return id;
}

void BatchEncoder::endOps() {
  if (ops_.empty()) return;
  OpChunk chunk;
  chunk.first = ops_.first();
  chunk.last = ops_.last();
  chunk.step = ops_.step();
  chunk.count = ops_.count();
  chunk.operandCount = ops_.operandCount();
  scratch_.clear();
  scratchOperands_.clear();
  ops_.finish(scratch_, scratchOperands_);
  const auto block = compressor_.compress(scratch_.bytes());
  scratch_.clear();
  scratch_.raw(block);
  file_.addOps(chunk, scratch_.bytes(), compressor_.compress(scratchOperands_.bytes()));
}

void BatchEncoder::endRegions() {
  if (regions_.empty()) return;
  const int64_t count = regions_.count();
  scratch_.clear();
  regions_.finish(scratch_);
  file_.addRegions(count, compressor_.compress(scratch_.bytes()));
}

void BatchEncoder::endFingerprints() {
  if (fingerprintCount_ == 0) return;
  file_.addFingerprints({lastFingerprint_ - fingerprintCount_ + 1}, fingerprintCount_,
                        digests_.bytes(), rests_.bytes());
  fingerprintCount_ = 0;
  digests_.clear();
  rests_.clear();
}

}  // namespace ulpscope
