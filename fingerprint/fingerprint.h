#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fingerprint/dtype.h"

namespace ulpscope {

/// Version of the algorithm below, kept in each trace. Test vectors pin it.
inline constexpr int kFingerprintVersion = 1;

/// A strided buffer on the CPU. Sizes and strides are in elements (torch's convention; strides may
/// be 0 or, from other producers, negative). `data` points at the element of index (0, ..., 0).
/// `conjugate` and `negative` are torch's lazy bits: the logical element is conj/-(stored element).
struct StridedView {
  const void* data = nullptr;
  DType dtype = DType::Undefined;
  bool conjugate = false;
  bool negative = false;
  int32_t dim = 0;
  const int64_t* sizes = nullptr;    ///< [dim]
  const int64_t* strides = nullptr;  ///< [dim]; nullptr: contiguous, row-major
};

/// What to compute. Each level contains the one before.
enum class Level : uint8_t { digest = 0, statistics = 1, full = 2 };

/// 128-bit XXH3 (seed 0) of the logical elements' bytes in row-major order, over chunks of
/// kChunkBytes; where there is more than one chunk, XXH3-128 of the chunks' canonical digests.
/// Independent of strides, of alignment, of threads and of the instruction set.
struct Digest {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};
inline constexpr int64_t kChunkBytes = 64 * 1024;

/// Over the real components of the elements (a complex element is two), in float64.
/// NaN and infinities are counted and left out of min, max, sum, l1 and l2. An empty tensor, or one
/// with nothing finite, has min = +inf and max = -inf. Raw dtypes (Bits*, packed sub-byte) are read
/// as unsigned bytes. Quantized dtypes are read as their stored integers.
struct Statistics {
  uint64_t components = 0;  ///< real components looked at
  uint64_t nan = 0;
  uint64_t positiveInfinity = 0;
  uint64_t negativeInfinity = 0;
  uint64_t zero = 0;  ///< both signs
  uint64_t negativeZero = 0;
  uint64_t subnormal = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double l1 = 0;          ///< sum of |x|
  double sumSquares = 0;  ///< l2 squared
};

/// Count sketch with one row (Charikar, Chen, Farach-Colton 2002; the Fast-AGMS estimate of Cormode
/// and Garofalakis 2005): component i adds sign(i) * x_i to bucket(i), both fixed functions of i.
/// sum_k (s_k - t_k)^2 is an unbiased estimate of |x - y|_2^2, with a relative standard error of at
/// most sqrt(2 / 16) = 0.35, and exact where one component differs. Non-finite components add 0.
/// Two tensors of different dtype and equal shape can be compared.
inline constexpr int kSketchSize = 16;
using Sketch = std::array<double, kSketchSize>;

struct Fingerprint {
  Level level = Level::digest;
  Digest digest;
  Statistics statistics;  ///< valid from Level::statistics
  Sketch sketch{};        ///< valid at Level::full
};

/// Fingerprint of a buffer. Never fails, never throws; allocates nothing (one chunk on the stack).
/// dtype Undefined or a null pointer with elements gives the fingerprint of an empty tensor.
Fingerprint fingerprint(const StridedView& view, Level level) noexcept;

/// Name of the instruction set that run-time dispatch chose ("SSE2", "AVX2", "AVX3", ...).
const char* instructionSet();

/// Outcome of comparing two fingerprints of logically corresponding tensors.
struct Comparison {
  bool identical = false;      ///< equal digests (and so, but for a collision of 2^-128, bits)
  bool countsDiffer = false;   ///< nan, infinities: one side has non-finite values the other lacks
  bool distanceKnown = false;  ///< both at Level::full, of equal size, sums within float64's range
  double distance = 0;         ///< estimated |x - y|_2; 0 with identical == false: below resolution
  double standardError = 0;    ///< of `distance`, same unit
  double relative = 0;         ///< distance / max(|x|_2, |y|_2); inf where only the norm is
                               ///< 0, NaN where unknown
  /// Estimated root-mean-square difference in units in the last place of `dtype`, at the
  /// root-mean-square magnitude of x. NaN where unknown or where the dtype has no ulp.
  double ulp = 0;
};

/// `a` and `b` are the dtypes of the two tensors; with different dtypes the digests are not
/// compared (identical is false unless both have no element) and ulps are those of the coarser one.
Comparison compare(const Fingerprint& x, DType a, const Fingerprint& y, DType b);

/// The statistics that differ, by name: "nan", "min", "sum", ... in a fixed order, comma separated;
/// empty where none does (or where one side has only a digest).
std::string differingStatistics(const Fingerprint& x, const Fingerprint& y);

/// 32 hexadecimal digits, high half first (xxHash's canonical form).
std::string toHex(const Digest& digest);

}  // namespace ulpscope
