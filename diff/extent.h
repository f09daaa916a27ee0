#pragma once

#include <cstdint>

#include "store/records.h"

namespace ulpscope {

/// Which part of a storage a tensor type takes up from its offset on.
struct Extent {
  int64_t span = -1;   ///< elements from the first to the last, both counted; 0: empty, -1: unknown
  bool dense = false;  ///< every element in between belongs to it
};

Extent extentOf(const TensorType& type);

/// Might two tensors of one storage share an element? Exact for up to a few dimensions; where it
/// can't tell (other layouts, element sizes, too many cases) it says yes. Offsets in elements.
bool mayOverlap(const TensorType& a, int64_t offsetA, const TensorType& b, int64_t offsetB);

/// Does the first contain every element of the second? Where it can't tell: no.
bool covers(const TensorType& outer, int64_t offsetOuter, const TensorType& inner,
            int64_t offsetInner);

}  // namespace ulpscope
