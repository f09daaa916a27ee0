#pragma once

#include <cstdint>

#include "fingerprint/dtype.h"

namespace ulpscope {

/// Rows of equally spaced elements; strides in bytes, 0 and negative ones included.
struct Rows {
  int64_t rows;
  int64_t rowStride;
  int64_t columns;
  int64_t columnStride;
};

/// Copies the elements row by row to `to`, one after the other.
void copyRows(char* to, const char* from, const Rows& rows, int64_t elementBytes) noexcept;

/// Turns packed stored elements into the logical ones of a view with torch's lazy bits: conjugates
/// complex elements, then negates. Negation flips the sign of floats and is two's complement on
/// integers; bool and raw dtypes have none. `elements` must be aligned to 16 bytes.
void applyLazyBits(void* elements, int64_t count, DType dtype, bool conjugate,
                   bool negative) noexcept;

}  // namespace ulpscope
