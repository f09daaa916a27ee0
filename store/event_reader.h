#pragma once

#include <span>

#include "store/bytes.h"
#include "store/event_buffer.h"

namespace ulpscope {

/// Walks an EventBuffer's bytes. Every step is checked; throws Malformed.
class EventReader {
 public:
  struct OpRecord {
    RawOp op;
    std::span<const std::byte> scalars;
    std::span<const std::byte> operands;  ///< for OperandReader
  };

  explicit EventReader(std::span<const std::byte> bytes) : in_(bytes) {}

  /// Calls one of the two for each record.
  template <class OnOp, class OnRegion>
  void read(OnOp&& onOp, OnRegion&& onRegion) {
    while (!in_.empty()) {
      switch (static_cast<EventBuffer::Tag>(in_.u8())) {
        case EventBuffer::Tag::op: {
          OpRecord record;
          record.op = in_.fixed<RawOp>();
          record.scalars = in_.raw(record.op.scalarBytes);
          record.operands = skipOperands(record.op.operandCount);
          onOp(record);
          break;
        }
        case EventBuffer::Tag::region:
          onRegion(in_.fixed<RawRegion>());
          break;
        default:
          throw Malformed{"unknown record"};
      }
    }
  }

 private:
  std::span<const std::byte> skipOperands(uint32_t count);
  ByteReader in_;
};

/// One operand with what follows it; dims and fingerprint are copied out, for they are unaligned.
struct OperandRecord {
  RawOperand operand;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  Fingerprint fingerprint;
  std::span<const std::byte> dims;  ///< sizes and strides as they stand in the buffer
};

/// Reads the next operand; the record's vectors are reused.
void readOperand(ByteReader& in, OperandRecord& record);

}  // namespace ulpscope
