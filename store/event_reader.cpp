#include "store/event_reader.h"

namespace ulpscope {
namespace {

uint64_t dimBytes(const RawOperand& operand) {
  if (operand.dim < 0) throw Malformed{"a tensor has a negative number of dimensions"};
  return sizeof(int64_t) * static_cast<uint64_t>(operand.dim) * (operand.hasStrides ? 2 : 1);
}

}  // namespace

std::span<const std::byte> EventReader::skipOperands(uint32_t count) {
  ByteReader ahead = in_;
  for (uint32_t i = 0; i < count; ++i) {
    const auto operand = ahead.fixed<RawOperand>();
    ahead.raw(dimBytes(operand));
    if (operand.hasFingerprint) ahead.raw(sizeof(Fingerprint));
  }
  return in_.raw(in_.left() - ahead.left());
}

void readOperand(ByteReader& in, OperandRecord& record) {
  record.operand = in.fixed<RawOperand>();
  const RawOperand& operand = record.operand;
  record.dims = in.raw(dimBytes(operand));
  const auto dim = static_cast<size_t>(operand.dim);
  record.sizes.resize(dim);
  record.strides.resize(operand.hasStrides ? dim : 0);
  ByteReader dims(record.dims);
  for (int64_t& size : record.sizes) size = dims.fixed<int64_t>();
  for (int64_t& stride : record.strides) stride = dims.fixed<int64_t>();
  if (operand.hasFingerprint) record.fingerprint = in.fixed<Fingerprint>();
}

}  // namespace ulpscope
