#include "fingerprint/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ulpscope {
namespace {

struct Bytes16 {
  uint64_t half[2];
};

template <typename T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void copyRowsOf(char* to, const char* from, const Rows& r) {
  constexpr auto kBytes = int64_t{sizeof(T)};
  // Short rows are not worth a call of memcpy.
  constexpr int64_t kShortRow = 64;
  // Columns that a transposing copy reads side by side: enough to write whole cache lines, few
  // enough for their lines to stay in the first-level cache.
  constexpr int64_t kTile = std::max<int64_t>(16, 64 / kBytes);
  const int64_t rowBytes = r.columns * kBytes;

  if (r.columnStride == kBytes && rowBytes >= kShortRow) {
    for (int64_t i = 0; i < r.rows; ++i) {
      std::memcpy(to + i * rowBytes, from + i * r.rowStride, static_cast<size_t>(rowBytes));
    }
  } else if (r.columnStride == 0) {
    for (int64_t i = 0; i < r.rows; ++i) {
      const T value = read<T>(from + i * r.rowStride);
      for (int64_t j = 0; j < r.columns; ++j) {
        std::memcpy(to + i * rowBytes + j * kBytes, &value, sizeof value);
      }
    }
  } else if (r.rows > 1 && std::abs(r.rowStride) < std::abs(r.columnStride)) {
    for (int64_t first = 0; first < r.columns; first += kTile) {
      const int64_t width = std::min(kTile, r.columns - first);
      for (int64_t i = 0; i < r.rows; ++i) {
        const char* source = from + i * r.rowStride + first * r.columnStride;
        char* target = to + i * rowBytes + first * kBytes;
        for (int64_t j = 0; j < width; ++j) {
          const T value = read<T>(source + j * r.columnStride);
          std::memcpy(target + j * kBytes, &value, sizeof value);
        }
      }
    }
  } else {
    for (int64_t i = 0; i < r.rows; ++i) {
      const char* source = from + i * r.rowStride;
      char* target = to + i * rowBytes;
      for (int64_t j = 0; j < r.columns; ++j) {
        const T value = read<T>(source + j * r.columnStride);
        std::memcpy(target + j * kBytes, &value, sizeof value);
      }
    }
  }
}

template <typename T>
void negateIntegers(char* elements, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(T{0} - read<T>(elements + i * int64_t{sizeof(T)}));
    std::memcpy(elements + i * int64_t{sizeof(T)}, &value, sizeof value);
  }
}

// Flips the bits of a pattern that repeats every 16 bytes.
void flip(char* elements, int64_t bytes, const std::array<uint8_t, 16>& pattern) {
  std::array<uint64_t, 2> words;
  std::memcpy(words.data(), pattern.data(), sizeof words);
  int64_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    const Bytes16 value = read<Bytes16>(elements + i);
    const Bytes16 flipped{{value.half[0] ^ words[0], value.half[1] ^ words[1]}};
    std::memcpy(elements + i, &flipped, sizeof flipped);
  }
  for (; i < bytes; ++i) {
    elements[i] =
        static_cast<char>(static_cast<uint8_t>(elements[i]) ^ pattern[static_cast<size_t>(i % 16)]);
  }
}

}  // namespace

void copyRows(char* to, const char* from, const Rows& rows, int64_t elementBytes) noexcept {
  switch (elementBytes) {
    case 1:
      return copyRowsOf<uint8_t>(to, from, rows);
    case 2:
      return copyRowsOf<uint16_t>(to, from, rows);
    case 4:
      return copyRowsOf<uint32_t>(to, from, rows);
    case 8:
      return copyRowsOf<uint64_t>(to, from, rows);
    default:
      return copyRowsOf<Bytes16>(to, from, rows);
  }
}

void applyLazyBits(void* data, int64_t count, DType dtype, bool conjugate, bool negative) noexcept {
  auto* elements = static_cast<char*>(data);
  const DTypeInfo& type = info(dtype);
  if (type.kind == NumberKind::complex || type.kind == NumberKind::floating) {
    if (dtype == DType::Float8_e8m0fnu) return;  // has no sign
    if (dtype == DType::Float8_e5m2fnuz || dtype == DType::Float8_e4m3fnuz) {
      // There is no -0: its pattern is NaN.
      for (int64_t i = 0; negative && i < count; ++i) {
        if ((elements[i] & 0x7f) != 0) elements[i] = static_cast<char>(elements[i] ^ 0x80);
      }
      return;
    }
    const bool isComplex = type.kind == NumberKind::complex;
    const size_t bytes = type.bytes / (isComplex ? 2U : 1U);
    std::array<uint8_t, 16> pattern{};
    for (size_t c = 0; c < 16 / bytes; ++c) {
      const bool imaginary = isComplex && c % 2 == 1;
      const bool flipped = negative != (conjugate && imaginary);
      pattern[c * bytes + bytes - 1] = flipped ? 0x80 : 0;
    }
    flip(elements, count * type.bytes, pattern);
  } else if (negative &&
             (type.kind == NumberKind::signedInt || type.kind == NumberKind::unsignedInt)) {
    switch (type.bytes) {
      case 1:
        return negateIntegers<uint8_t>(elements, count);
      case 2:
        return negateIntegers<uint16_t>(elements, count);
      case 4:
        return negateIntegers<uint32_t>(elements, count);
      default:
        return negateIntegers<uint64_t>(elements, count);
    }
  }
}

}  // namespace ulpscope
