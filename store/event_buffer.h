#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/records.h"

namespace ulpscope {

/// A tensor as the recorder saw it: plain data, filled on the program's own thread.
/// Followed in the buffer by dim sizes and, for strided layouts, dim strides (int64_t each), and by
/// the fingerprint where there is one.
struct RawOperand {
  Role role = Role::input;
  SkipReason skip = SkipReason::none;
  Closure closure = Closure::unchecked;
  uint8_t flags = 0;
  int16_t arg = 0;
  int16_t item = -1;
  DType dtype = DType::Undefined;
  Layout layout = Layout::strided;
  uint8_t deviceType = 0;  ///< c10::DeviceType
  int8_t deviceIndex = -1;
  int32_t dim = 0;
  bool hasStrides = false;
  bool hasFingerprint = false;
  StorageId storage;
  int64_t offset = 0;
  OpId writer;
};

struct RawOp {
  OpId id;
  OpId parent;
  OpKind kind = OpKind::op;
  Phase phase = Phase::other;
  bool raised = false;
  uint32_t thread = 0;
  int32_t step = 0;
  RegionId region;
  SchemaId schema;
  StackId stack;
  ProvenanceId provenance;
  int64_t sequence = -1;
  uint32_t forwardThread = 0;
  uint16_t operandCount = 0;
  uint32_t scalarBytes = 0;
};

/// A region is written when the first op inside it is (regions without ops leave no trace).
struct RawRegion {
  RegionId id;
  RegionId parent;
  RegionKind kind = RegionKind::scope;
  uint32_t thread = 0;
  int32_t step = 0;
  OpId begin;
  int64_t sequence = -1;
  StringId name;
  StringId detail;
};

/// Tags of the binary form in which scalar arguments cross from the program's thread to the
/// writer's. Each scalar is: int16_t arg, uint8_t tag, payload (unaligned, native byte order).
enum class ScalarTag : uint8_t {
  none = 0,        ///< no payload
  boolean = 1,     ///< uint8_t
  integer = 2,     ///< int64_t
  floating = 3,    ///< double
  complexNumber = 4,  ///< two doubles
  text = 5,        ///< uint32_t length, bytes
  integers = 6,    ///< uint32_t count, int64_t each
  floatings = 7,   ///< uint32_t count, double each
  booleans = 8,    ///< uint32_t count, uint8_t each
  dtype = 9,       ///< uint8_t DType
};

/// Append-only memory of one thread: records in the order of ops' ends, as raw bytes. The program's
/// thread appends without a lock of its own, a lock around it belongs to the owner. Not thread-safe.
class EventBuffer {
 public:
  enum class Tag : uint8_t { op = 1, region = 2 };

  void clear() { bytes_.clear(); ops_ = 0; }
  bool empty() const { return bytes_.empty(); }
  size_t size() const { return bytes_.size(); }
  size_t ops() const { return ops_; }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }
  std::span<const std::byte> bytes() const { return bytes_; }
  void swap(EventBuffer& other) noexcept { bytes_.swap(other.bytes_); std::swap(ops_, other.ops_); }

  /// An op: its header, then `scalars` (op.scalarBytes bytes of ScalarTag records), then exactly
  /// op.operandCount operands added by addOperand (or a span made by another EventBuffer).
  void addOp(const RawOp& op, std::span<const std::byte> scalars) {
    put(Tag::op);
    put(op);
    append(scalars.data(), scalars.size());
    ++ops_;
  }
  void addOperand(const RawOperand& operand, const int64_t* sizes, const int64_t* strides,
                  const Fingerprint* fingerprint) {
    put(operand);
    append(sizes, sizeof(int64_t) * size_t(operand.dim));
    if (operand.hasStrides) append(strides, sizeof(int64_t) * size_t(operand.dim));
    if (operand.hasFingerprint) append(fingerprint, sizeof(Fingerprint));
  }
  void addRegion(const RawRegion& region) {
    put(Tag::region);
    put(region);
  }
  /// Operands that were collected in another buffer while the op ran.
  void addBytes(std::span<const std::byte> operands) { append(operands.data(), operands.size()); }

 private:
  template <class T>
  void put(const T& value) { append(&value, sizeof(T)); }
  void append(const void* data, size_t size) {
    // insert, unlike resize, does not fill with zeros first.
    const auto* from = static_cast<const std::byte*>(data);
    if (size != 0) bytes_.insert(bytes_.end(), from, from + size);
  }
  std::vector<std::byte> bytes_;
  size_t ops_ = 0;
};

}  // namespace ulpscope
