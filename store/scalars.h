#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/bytes.h"
#include "store/event_buffer.h"

namespace ulpscope {

/// Builds the scalar arguments of one op in the form that EventBuffer::addOp takes (ScalarTag).
class ScalarPacker {
 public:
  void clear() { out_.clear(); }
  std::span<const std::byte> bytes() const { return out_.bytes(); }

  void none(int16_t arg) { begin(arg, ScalarTag::none); }
  void boolean(int16_t arg, bool value) {
    begin(arg, ScalarTag::boolean);
    out_.u8(value);
  }
  void integer(int16_t arg, int64_t value) {
    begin(arg, ScalarTag::integer);
    out_.fixed(value);
  }
  void floating(int16_t arg, double value) {
    begin(arg, ScalarTag::floating);
    out_.fixed(value);
  }
  void complexNumber(int16_t arg, double real, double imaginary) {
    begin(arg, ScalarTag::complexNumber);
    out_.fixed(real);
    out_.fixed(imaginary);
  }
  void text(int16_t arg, std::string_view value) {
    begin(arg, ScalarTag::text);
    out_.fixed(static_cast<uint32_t>(value.size()));
    out_.raw(value.data(), value.size());
  }
  void integers(int16_t arg, std::span<const int64_t> values) {
    begin(arg, ScalarTag::integers);
    list(values);
  }
  void floatings(int16_t arg, std::span<const double> values) {
    begin(arg, ScalarTag::floatings);
    list(values);
  }
  void booleans(int16_t arg, std::span<const uint8_t> values) {
    begin(arg, ScalarTag::booleans);
    list(values);
  }
  void dtype(int16_t arg, DType value) {
    begin(arg, ScalarTag::dtype);
    out_.u8(static_cast<uint8_t>(value));
  }

 private:
  void begin(int16_t arg, ScalarTag tag) {
    out_.fixed(arg);
    out_.u8(static_cast<uint8_t>(tag));
  }
  template <class T>
  void list(std::span<const T> values) {
    out_.fixed(static_cast<uint32_t>(values.size()));
    out_.raw(values.data(), values.size_bytes());
  }
  ByteWriter out_;
};

/// Throws Malformed where `packed` is not a sequence of whole scalars.
void checkScalars(std::span<const std::byte> packed);

/// The canonical text of each scalar: Python's spelling. Throws Malformed.
std::vector<Scalar> unpackScalars(std::span<const std::byte> packed);

}  // namespace ulpscope
