#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fingerprint/dtype.h"

namespace ulpscope {

/// One component (of a complex element, the real or the imaginary part) that differs.
struct ElementDifference {
  int64_t element = 0;  ///< index of the logical element, row-major
  int32_t component = 0;
  double a = 0;
  double b = 0;
  double absolute = 0;  ///< |a - b|; inf where one side is infinite, NaN where one is NaN
  double relative = 0;  ///< absolute / max(|a|, |b|)
  double ulps = 0;      ///< as in ElementComparison; inf where one side is not finite
};

/// Buckets of a histogram in ulps: 0, 1, 2, 3-4, 5-8, ... up to 2^63 < x.
inline constexpr int kUlpBuckets = 66;
/// The bucket of a distance, which must not be NaN.
int ulpBucket(double ulps);
/// The largest whole distance in a bucket: 0, 1, 2, 4, 8, ...
double ulpBucketEnd(int bucket);

/// Two tensors, component by component. Distances "in ulps" are, for equal dtypes, the number of
/// representable values from one to the other (0 and -0 are one value); for integers and raw dtypes
/// |a - b|. For different dtypes they are |a - b| in units in the last place, at the larger magnitude, of the
/// one with the shorter significand (of 1 between integers).
struct ElementComparison {
  int64_t elements = 0;
  int64_t components = 0;
  int64_t differing = 0;    ///< components of other bits (of other values, for different dtypes)
  int64_t signedZeros = 0;  ///< of those: 0 and -0
  int64_t nonFinite = 0;    ///< of those: NaN or an infinity on one side, something else on the other
  int64_t payloads = 0;     ///< of those: NaN on both sides, of other bits
  std::array<int64_t, kUlpBuckets> histogram{};  ///< of the components that are finite on both sides
  double maxAbsolute = 0;  ///< of the components that are finite on both sides
  double maxRelative = 0;
  double maxUlps = 0;
  double distance = 0;  ///< |a - b|_2 of those
  double norm = 0;      ///< the larger of |a|_2 and |b|_2 of those
  std::vector<ElementDifference> largest;  ///< the largest first; what is not finite before all
};

enum class DifferenceOrder : uint8_t { absolute, relative, ulps };

/// `a` and `b` hold equally many logical elements in row-major order, as Reader::values gives them;
/// of other sizes nothing is compared (elements is 0). At most `largest` differences are listed; of
/// equal ones the first.
ElementComparison compareElements(std::span<const std::byte> a, DType dtypeA,
                                  std::span<const std::byte> b, DType dtypeB,
                                  DifferenceOrder order, size_t largest);

}  // namespace ulpscope
