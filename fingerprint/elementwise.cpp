#include "fingerprint/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "fingerprint/accumulate.h"
#include "fingerprint/float_formats.h"

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A component: its value, its bits, and its place among all values of its dtype.
struct Component {
  double value = 0;
  uint64_t bits = 0;
  int64_t place = 0;  ///< of a NaN without meaning
};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Sign and magnitude, as all floating formats but float8_e8m0fnu have them.
template <class Bits>
int64_t placeOf(Bits bits) {
  constexpr Bits kSign = Bits(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto magnitude = int64_t(bits & Bits(~kSign));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

template <class Bits, class Widen>
Component floating(const std::byte* at, Widen widen) {
  const auto bits = load<Bits>(at);
  return {double(widen(bits)), bits, placeOf(bits)};
}

template <class T>
Component integer(const std::byte* at) {
  const auto value = load<T>(at);
  // uint64 keeps its order when its highest bit is turned.
  const int64_t place = sizeof(T) == 8 && std::is_unsigned_v<T>
                            ? int64_t(uint64_t(value) ^ (uint64_t{1} << 63))
                            : int64_t(value);
  return {double(value), uint64_t(value), place};
}

Component read(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
      return floating<uint64_t>(at, [](uint64_t b) { return std::bit_cast<double>(b); });
    case DType::Float32:
    case DType::Complex64:
      return floating<uint32_t>(at, [](uint32_t b) { return std::bit_cast<float>(b); });
    case DType::Float16:
    case DType::Complex32:
      return floating<uint16_t>(at, widenHalf);
    case DType::BFloat16:
      return floating<uint16_t>(at, widenBFloat16);
    case DType::Float8_e5m2:
      return floating<uint8_t>(at, [](uint8_t b) { return kFloat8E5M2Values[b]; });
    case DType::Float8_e4m3fn:
      return floating<uint8_t>(at, [](uint8_t b) { return kFloat8E4M3FnValues[b]; });
    case DType::Float8_e5m2fnuz:
      return floating<uint8_t>(at, [](uint8_t b) { return kFloat8E5M2FnuzValues[b]; });
    case DType::Float8_e4m3fnuz:
      return floating<uint8_t>(at, [](uint8_t b) { return kFloat8E4M3FnuzValues[b]; });
    case DType::Float8_e8m0fnu: {
      const auto bits = load<uint8_t>(at);
      return {kFloat8E8M0Values[bits], bits, bits};
    }
    case DType::Int8:
    case DType::QInt8:
    case DType::Int1:
    case DType::Int2:
    case DType::Int3:
    case DType::Int4:
    case DType::Int5:
    case DType::Int6:
    case DType::Int7:
      return integer<int8_t>(at);
    case DType::Int16:
      return integer<int16_t>(at);
    case DType::Int32:
    case DType::QInt32:
      return integer<int32_t>(at);
    case DType::Int64:
      return integer<int64_t>(at);
    case DType::UInt16:
      return integer<uint16_t>(at);
    case DType::UInt32:
      return integer<uint32_t>(at);
    case DType::UInt64:
      return integer<uint64_t>(at);
    default:
      return integer<uint8_t>(at);  // of one byte, or raw bytes
  }
}

/// The distance between neighbours at this magnitude; 1 for integers.
double ulpAt(double magnitude, DType dtype) {
  const int bits = info(dtype).significandBits;
  if (bits == 0) return 1;
  int exponent = minimumExponent(dtype);
  if (magnitude > 0) exponent = std::max(exponent, std::ilogb(magnitude));
  return std::ldexp(1.0, exponent - bits + 1);
}

DType coarser(DType a, DType b) {
  const int bitsA = info(a).significandBits;
  const int bitsB = info(b).significandBits;
  if (bitsA == 0) return b;
  return bitsB == 0 || bitsA <= bitsB ? a : b;
}

/// The `count` largest differences seen, in a heap whose top is the smallest of them.
class Largest {
 public:
  Largest(DifferenceOrder order, size_t count) : order_(order), count_(count) {}

  void add(const ElementDifference& difference) {
    if (count_ == 0) return;
    if (heap_.size() == count_ && !larger(difference, heap_.front())) return;
    if (heap_.size() == count_) {
      std::pop_heap(heap_.begin(), heap_.end(), Before{*this});
      heap_.pop_back();
    }
    heap_.push_back(difference);
    std::push_heap(heap_.begin(), heap_.end(), Before{*this});
  }
  std::vector<ElementDifference> take() {
    std::sort(heap_.begin(), heap_.end(), Before{*this});
    return std::move(heap_);
  }

 private:
  /// Larger ones first: the top of a heap is then the smallest.
  struct Before {
    const Largest& list;
    bool operator()(const ElementDifference& x, const ElementDifference& y) const {
      return list.larger(x, y);
    }
  };
  double key(const ElementDifference& d) const {
    const double value = order_ == DifferenceOrder::absolute   ? d.absolute
                         : order_ == DifferenceOrder::relative ? d.relative
                                                               : d.ulps;
    return std::isnan(value) ? kInfinity : value;
  }
  bool larger(const ElementDifference& x, const ElementDifference& y) const {
    return key(x) != key(y) ? key(x) > key(y) : x.element < y.element;
  }
  DifferenceOrder order_;
  size_t count_;
  std::vector<ElementDifference> heap_;
};

}  // namespace

int ulpBucket(double ulps) {
  if (ulps <= 0) return 0;
  if (ulps <= 1) return 1;
  int exponent = 0;
  const double fraction = std::frexp(ulps, &exponent);  // ulps = fraction * 2^exponent, 0.5 <= f < 1
  const int bucket = 1 + (fraction == 0.5 ? exponent - 1 : exponent);
  return std::isfinite(ulps) ? std::min(bucket, kUlpBuckets - 1) : kUlpBuckets - 1;
}

double ulpBucketEnd(int bucket) { return bucket == 0 ? 0 : std::ldexp(1.0, bucket - 1); }

ElementComparison compareElements(std::span<const std::byte> a, DType dtypeA,
                                  std::span<const std::byte> b, DType dtypeB,
                                  DifferenceOrder order, size_t largest) {
  ElementComparison result;
  const size_t bytesA = info(dtypeA).bytes;
  const size_t bytesB = info(dtypeB).bytes;
  if (bytesA == 0 || bytesB == 0 || a.size() / bytesA != b.size() / bytesB) return result;
  const int64_t parts = componentsPerElement(dtypeA);
  if (componentsPerElement(dtypeB) != parts) return result;
  result.elements = int64_t(a.size() / bytesA);
  result.components = result.elements * parts;
  const size_t stepA = bytesA / size_t(parts);
  const size_t stepB = bytesB / size_t(parts);
  const bool same = dtypeA == dtypeB;
  const DType unit = coarser(dtypeA, dtypeB);
  Largest list(order, largest);
  double squares = 0, squaresA = 0, squaresB = 0;
  for (int64_t i = 0; i < result.components; ++i) {
    const Component x = read(a.data() + size_t(i) * stepA, dtypeA);
    const Component y = read(b.data() + size_t(i) * stepB, dtypeB);
    const bool finite = std::isfinite(x.value) && std::isfinite(y.value);
    const bool bothNaN = std::isnan(x.value) && std::isnan(y.value);
    const bool equal = same ? x.bits == y.bits : x.value == y.value || bothNaN;
    if (finite) {
      squaresA += x.value * x.value;
      squaresB += y.value * y.value;
    }
    if (equal) {
      if (finite) ++result.histogram[0];
      continue;
    }
    ++result.differing;
    ElementDifference d{i / parts, int32_t(i % parts), x.value, y.value,
                        std::abs(x.value - y.value), 0, 0};
    const double magnitude = std::max(std::abs(x.value), std::abs(y.value));
    if (!finite) {
      if (bothNaN) {
        ++result.payloads;
        continue;
      }
      ++result.nonFinite;
      d.relative = d.ulps = kInfinity;
      list.add(d);
      continue;
    }
    // Through uint64: places can be further apart than int64 reaches.
    d.ulps = same ? double(x.place > y.place ? uint64_t(x.place) - uint64_t(y.place)
                                             : uint64_t(y.place) - uint64_t(x.place))
                  : d.absolute / ulpAt(magnitude, unit);
    d.relative = magnitude == 0 ? 0 : d.absolute / magnitude;
    ++result.histogram[size_t(ulpBucket(d.ulps))];
    if (x.value == 0 && y.value == 0) ++result.signedZeros;
    result.maxAbsolute = std::max(result.maxAbsolute, d.absolute);
    result.maxRelative = std::max(result.maxRelative, d.relative);
    result.maxUlps = std::max(result.maxUlps, d.ulps);
    squares += d.absolute * d.absolute;
    list.add(d);
  }
  result.distance = std::sqrt(squares);
  result.norm = std::sqrt(std::max(squaresA, squaresB));
  result.largest = list.take();
  return result;
}

}  // namespace ulpscope
