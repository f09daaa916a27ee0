#include "store/record_packing.h"

#include <algorithm>
#include <array>

namespace ulpscope {
namespace {

// By c10::DeviceType.
constexpr std::array<std::string_view, 21> kDevices{
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};

StringId readString(ByteReader& in) {
  return {static_cast<uint32_t>(in.varint())};
}

std::vector<std::string> readStrings(ByteReader& in, const StringOf& text) {
  std::vector<std::string> strings(in.count(1));
  for (std::string& string : strings) string = text(readString(in));
  return strings;
}

void putStack(const Stack& stack, const InternString& intern, ByteWriter& out) {
  out.varint(stack.size());
  for (const Frame& frame : stack) {
    out.varint(intern(frame.file).value);
    out.signedVarint(frame.line);
    out.varint(intern(frame.function).value);
  }
}

Stack readStack(ByteReader& in, const StringOf& text) {
  Stack stack(in.count(3));
  for (Frame& frame : stack) {
    frame.file = text(readString(in));
    frame.line = static_cast<int32_t>(in.signedVarint());
    frame.function = text(readString(in));
  }
  return stack;
}

}  // namespace

std::string deviceText(uint8_t type, int8_t index) {
  std::string text =
      type < kDevices.size() ? std::string(kDevices[type]) : "device" + std::to_string(type);
  // The CPU is one device, whatever index a tensor carries.
  if (type != 0 && index >= 0) text += ":" + std::to_string(index);
  return text;
}

void packSchema(const Schema& schema, const InternString& intern, ByteWriter& out) {
  out.varint(intern(schema.name).value);
  out.varint(intern(schema.overload).value);
  for (const auto* names : {&schema.arguments, &schema.returns}) {
    out.varint(names->size());
    for (const std::string& name : *names) out.varint(intern(name).value);
  }
}

Schema unpackSchema(std::span<const std::byte> packed, const StringOf& text) {
  ByteReader in(packed);
  Schema schema;
  schema.name = text(readString(in));
  schema.overload = text(readString(in));
  schema.arguments = readStrings(in, text);
  schema.returns = readStrings(in, text);
  return schema;
}

void packStack(const Stack& stack, const InternString& intern, ByteWriter& out) {
  putStack(stack, intern, out);
}

Stack unpackStack(std::span<const std::byte> packed, const StringOf& text) {
  ByteReader in(packed);
  return readStack(in, text);
}

void packProvenance(const Provenance& provenance, const InternString& intern, ByteWriter& out) {
  out.varint(intern(provenance.graph).value);
  out.varint(intern(provenance.kernel).value);
  out.varint(intern(provenance.code).value);
  out.varint(provenance.sources.size());
  for (const SourceOp& source : provenance.sources) {
    for (const auto* text :
         {&source.node, &source.op, &source.overload, &source.module, &source.moduleClass}) {
      out.varint(intern(*text).value);
    }
    out.u8(source.backward);
    out.signedVarint(source.order);
    putStack(source.stack, intern, out);
  }
  out.varint(provenance.ties.size());
  for (const OutputTie& tie : provenance.ties) {
    out.signedVarint(tie.arg);
    out.signedVarint(tie.source);
    out.fixed(tie.confidence);
    out.varint(intern(tie.how).value);
    out.signedVarint(tie.output);
    out.u8(tie.reshaped);
    out.signedVarint(tie.output);
    out.u8(tie.reshaped);
  }
}

Provenance unpackProvenance(std::span<const std::byte> packed, const StringOf& text) {
  ByteReader in(packed);
  Provenance provenance;
  provenance.graph = text(readString(in));
  provenance.kernel = text(readString(in));
  provenance.code = text(readString(in));
  provenance.sources.resize(in.count(8));
  for (SourceOp& source : provenance.sources) {
    for (auto* field :
         {&source.node, &source.op, &source.overload, &source.module, &source.moduleClass}) {
      *field = text(readString(in));
    }
    source.backward = in.u8() != 0;
    source.order = static_cast<int32_t>(in.signedVarint());
    source.stack = readStack(in, text);
  }
  provenance.ties.resize(in.count(9));
  for (OutputTie& tie : provenance.ties) {
    tie.arg = static_cast<int16_t>(in.signedVarint());
    tie.source = static_cast<int32_t>(in.signedVarint());
    tie.confidence = in.fixed<float>();
    tie.how = text(readString(in));
    tie.output = static_cast<int16_t>(in.signedVarint());
    tie.reshaped = in.u8() != 0;
    tie.output = static_cast<int16_t>(in.signedVarint());
    tie.reshaped = in.u8() != 0;
  }
  return provenance;
}

void packType(const RawOperand& operand, std::span<const int64_t> sizes,
              std::span<const int64_t> strides, ByteWriter& out) {
  out.u8(static_cast<uint8_t>(operand.dtype));
  out.u8(static_cast<uint8_t>(operand.layout));
  out.text(deviceText(operand.deviceType, operand.deviceIndex));
  for (const auto& numbers : {sizes, strides}) {
    out.varint(numbers.size());
    for (int64_t number : numbers) out.signedVarint(number);
  }
}

TensorType unpackType(std::span<const std::byte> packed) {
  ByteReader in(packed);
  TensorType type;
  type.dtype = static_cast<DType>(in.u8());
  type.layout = static_cast<Layout>(std::min(in.u8(), static_cast<uint8_t>(Layout::other)));
  type.device = in.text();
  for (auto* numbers : {&type.sizes, &type.strides}) {
    numbers->resize(in.count(1));
    for (int64_t& number : *numbers) number = in.signedVarint();
  }
  return type;
}

}  // namespace ulpscope
