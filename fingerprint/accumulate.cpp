#include "fingerprint/accumulate.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "fingerprint/float_formats.h"

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
T load(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * int64_t{sizeof(T)}, sizeof(T));
  return value;
}

double component(const void* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::Int8:
    case DType::QInt8:
    case DType::Int1:
    case DType::Int2:
    case DType::Int3:
    case DType::Int4:
    case DType::Int5:
    case DType::Int6:
    case DType::Int7: return load<int8_t>(data, i);
    case DType::Int16: return load<int16_t>(data, i);
    case DType::Int32:
    case DType::QInt32: return load<int32_t>(data, i);
    case DType::Int64: return static_cast<double>(load<int64_t>(data, i));
    case DType::UInt16: return load<uint16_t>(data, i);
    case DType::UInt32: return load<uint32_t>(data, i);
    case DType::UInt64: return static_cast<double>(load<uint64_t>(data, i));
    case DType::Float16:
    case DType::Complex32: return widenHalf(load<uint16_t>(data, i));
    case DType::BFloat16: return widenBFloat16(load<uint16_t>(data, i));
    case DType::Float32:
    case DType::Complex64: return load<float>(data, i);
    case DType::Float64:
    case DType::Complex128: return load<double>(data, i);
    case DType::Bool: return load<uint8_t>(data, i) != 0 ? 1 : 0;
    case DType::Float8_e5m2: return widenFloat8(load<uint8_t>(data, i), kFloat8E5M2);
    case DType::Float8_e4m3fn: return widenFloat8(load<uint8_t>(data, i), kFloat8E4M3Fn);
    case DType::Float8_e5m2fnuz: return widenFloat8(load<uint8_t>(data, i), kFloat8E5M2Fnuz);
    case DType::Float8_e4m3fnuz: return widenFloat8(load<uint8_t>(data, i), kFloat8E4M3Fnuz);
    case DType::Float8_e8m0fnu: return widenFloat8E8M0(load<uint8_t>(data, i));
    default: return load<uint8_t>(data, i);
  }
}

int64_t componentsPerElement(DType dtype) {
  if (dtype == DType::Bits16 || info(dtype).kind == NumberKind::complex) return 2;
  return 1;
}

double combine(std::array<double, kLanes>& lanes) {
  for (size_t half = kLanes / 2; half != 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) lanes[l] = lanes[l] + lanes[l + half];
  }
  return lanes[0];
}

}  // namespace

void start(Accumulator& accumulator) noexcept {
  accumulator = {};
  accumulator.statistics.min = kInfinity;
  accumulator.statistics.max = -kInfinity;
}

void accumulate(Accumulator& accumulator, const void* data, DType dtype, int64_t elements,
                uint64_t firstComponent, bool withSketch) noexcept {
  Statistics& s = accumulator.statistics;
  const int64_t components = elements * componentsPerElement(dtype);
  const bool floating =
      info(dtype).kind == NumberKind::floating || info(dtype).kind == NumberKind::complex;
  const double smallestNormal = floating ? std::ldexp(1.0, minimumExponent(dtype)) : 0;
  std::array<double, kLanes> sum{};
  std::array<double, kLanes> l1{};
  std::array<double, kLanes> squares{};
  double chunk[kLanes][kLanes] = {};
  BlockHash hash;
  s.components += static_cast<uint64_t>(components);
  for (int64_t i = 0; i < components; ++i) {
    const int64_t inBlock = i % kBlockComponents;
    if (inBlock == 0) hash = blockHash(firstComponent / kBlockComponents + i / kBlockComponents);
    const int row = static_cast<int>(inBlock / kLanes);
    const int lane = static_cast<int>(inBlock % kLanes);
    const double x = component(data, dtype, i);
    if (!std::isfinite(x)) {
      s.nan += std::isnan(x);
      s.positiveInfinity += x > 0;
      s.negativeInfinity += x < 0;
      continue;
    }
    s.zero += x == 0;
    s.negativeZero += x == 0 && std::signbit(x);
    s.subnormal += x != 0 && std::abs(x) < smallestNormal;
    s.min = std::fmin(s.min, x + 0.0);
    s.max = std::fmax(s.max, x + 0.0);
    sum[lane] += x;
    l1[lane] += std::abs(x);
    squares[lane] += x * x;
    if (withSketch) chunk[hash.rotation(row)][lane] += hash.negative(row, lane) ? -x : x;
  }
  s.sum += combine(sum);
  s.l1 += combine(l1);
  s.sumSquares += combine(squares);
  for (int r = 0; r < kLanes; ++r) {
    for (int l = 0; l < kLanes; ++l) accumulator.sketch[r][l] += chunk[r][l];
  }
}

void finish(const Accumulator& accumulator, Fingerprint& result) noexcept {
  result.statistics = accumulator.statistics;
  for (size_t b = 0; b < kSketchSize; ++b) {
    double bucket = 0;
    for (size_t r = 0; r < kLanes; ++r) bucket += accumulator.sketch[r][b ^ r];
    result.sketch[b] = bucket;
  }
}

}  // namespace ulpscope
