#pragma once

#include <functional>

#include "store/bytes.h"
#include "store/event_buffer.h"
#include "store/records.h"

/// Schemas, stacks, provenances and tensor types as blobs. Their texts are ids of the string table.
namespace ulpscope {

using InternString = std::function<StringId(std::string_view)>;
using StringOf = std::function<const std::string&(StringId)>;

void packSchema(const Schema& schema, const InternString& intern, ByteWriter& out);
void packStack(const Stack& stack, const InternString& intern, ByteWriter& out);
void packProvenance(const Provenance& provenance, const InternString& intern, ByteWriter& out);
void packType(const RawOperand& operand, std::span<const int64_t> sizes,
              std::span<const int64_t> strides, ByteWriter& out);

// All of these throw Malformed.
Schema unpackSchema(std::span<const std::byte> packed, const StringOf& text);
Stack unpackStack(std::span<const std::byte> packed, const StringOf& text);
Provenance unpackProvenance(std::span<const std::byte> packed, const StringOf& text);
TensorType unpackType(std::span<const std::byte> packed);

/// torch's spelling of a device: "cpu", "cuda:0".
std::string deviceText(uint8_t type, int8_t index);

}  // namespace ulpscope
