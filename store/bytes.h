#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

/// Bytes of the packed encodings (docs/trace-format.md): little-endian numbers, LEB128 varints.
namespace ulpscope {

static_assert(std::endian::native == std::endian::little, "traces are little-endian");

/// Thrown by ByteReader and the decoders above it; the reader turns it into a TraceError that names
/// the file, the writer into its error().
struct Malformed {
  const char* what;
};

/// Maps small numbers of either sign to small unsigned ones. All 64-bit values come back.
constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}
/// a - b and a + b that wrap around instead of overflowing: ids of a damaged file can be anything.
constexpr int64_t wrappingSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
constexpr int64_t wrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

class ByteWriter {
 public:
  void clear() { bytes_.clear(); }
  bool empty() const { return bytes_.empty(); }
  size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }

  void u8(uint8_t value) { bytes_.push_back(std::byte{value}); }
  void varint(uint64_t value) {
    while (value >= 0x80) {
      u8(static_cast<uint8_t>(value) | 0x80);
      value >>= 7;
    }
    u8(static_cast<uint8_t>(value));
  }
  void signedVarint(int64_t value) { varint(zigzag(value)); }
  template <class T>
  void fixed(T value) {
    raw(&value, sizeof value);
  }
  void raw(const void* data, size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  void raw(std::span<const std::byte> data) { raw(data.data(), data.size()); }
  void text(std::string_view value) {
    varint(value.size());
    raw(value.data(), value.size());
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what ByteWriter wrote. Every read is checked; past the end it throws Malformed.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::span<const std::byte> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool empty() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  uint8_t u8() {
    if (at_ == end_) throw Malformed{"data ends early"};
    return static_cast<uint8_t>(*at_++);
  }
  uint64_t varint() {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) return static_cast<uint8_t>(*at_++);
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = u8();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw Malformed{"a number is too long"};
  }
  int64_t signedVarint() { return unzigzag(varint()); }
  template <class T>
  T fixed() {
    T value;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> raw(uint64_t size) {
    if (size > left()) throw Malformed{"data ends early"};
    const std::span<const std::byte> result(at_, static_cast<size_t>(size));
    at_ += size;
    return result;
  }
  std::string_view text() {
    const auto bytes = raw(varint());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// A count of things of which each takes at least `bytesEach` bytes, so that a damaged count
  /// can't make the caller allocate more than the data can hold.
  size_t count(size_t bytesEach) {
    const uint64_t value = varint();
    if (value > left() / bytesEach) throw Malformed{"a count exceeds its data"};
    return static_cast<size_t>(value);
  }

 private:
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

}  // namespace ulpscope
