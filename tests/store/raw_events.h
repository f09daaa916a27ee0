#pragma once

#include "store/event_buffer.h"
#include "store/writer.h"

/// Raw events without the care that TraceBuilder takes: for tests of the writer itself.
namespace ulpscope::testing {

/// A fingerprint that differs from that of any other number.
inline Fingerprint numberedFingerprint(int64_t number) {
  Fingerprint fingerprint;
  fingerprint.level = Level::full;
  fingerprint.digest = {static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15,
                        static_cast<uint64_t>(number)};
  fingerprint.statistics.components = 10;
  fingerprint.statistics.sum = static_cast<double>(number);
  fingerprint.sketch[3] = static_cast<double>(number) / 3;
  return fingerprint;
}

/// An op with one input (of `input`) and one output (of `id`), float32 of shape [2, 5].
inline void addSimpleOp(EventBuffer& buffer, int64_t id, SchemaId schema, int64_t input,
                        int32_t step = 0, uint32_t thread = 0) {
  RawOp op;
  op.id = {id};
  op.schema = schema;
  op.step = step;
  op.thread = thread;
  op.operandCount = 2;
  buffer.addOp(op, {});
  const int64_t sizes[] = {2, 5};
  const int64_t strides[] = {5, 1};
  for (const bool output : {false, true}) {
    const Fingerprint fingerprint = numberedFingerprint(output ? id : input);
    RawOperand operand;
    operand.role = output ? Role::output : Role::input;
    operand.closure = output ? Closure::unchecked : Closure::matched;
    operand.dtype = DType::Float32;
    operand.dim = 2;
    operand.hasStrides = true;
    operand.hasFingerprint = true;
    operand.storage = {output ? id : input};
    operand.writer = {output ? 0 : input};
    buffer.addOperand(operand, sizes, strides, &fingerprint);
  }
}

}  // namespace ulpscope::testing
