#pragma once

#include <array>
#include <cstdint>

#include "fingerprint/fingerprint.h"

namespace ulpscope {

/// Reads the logical elements of a view in row-major order, a chunk at a time: in place where they
/// lie one after the other, else packed into the caller's buffer.
class StridedReader {
 public:
  /// A view that has no readable element (an empty or undefined one, a null pointer, a size that
  /// overflows) reads as empty.
  explicit StridedReader(const StridedView& view) noexcept;

  int64_t elements() const { return elements_; }

  /// Whether next() gives pointers into the view's own memory.
  bool inPlace() const { return inPlace_; }

  /// The next `count` elements; `count` must not exceed what is left. `buffer` holds so many and is
  /// aligned to 16 bytes; it is left alone where inPlace().
  const void* next(int64_t count, void* buffer) noexcept;

 private:
  struct Dimension {
    int64_t size;
    int64_t stride;  // in bytes
  };

  void collapse(const StridedView& view) noexcept;
  void pack(int64_t count, char* to) noexcept;
  void advance(int64_t rows) noexcept;

  const char* at_ = nullptr;
  int64_t elements_ = 0;
  int64_t elementBytes_ = 0;
  DType dtype_ = DType::Undefined;
  bool inPlace_ = true;
  bool conjugate_ = false;
  bool negative_ = false;
  int dims_ = 0;
  // Innermost first; without sizes of 1 and with dimensions merged where one stride spans both. 63
  // dimensions of size 2 are more elements than int64_t counts.
  std::array<Dimension, 63> dimension_;
  std::array<int64_t, 63> index_;
};

}  // namespace ulpscope
