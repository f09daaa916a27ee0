#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "fingerprint/accumulate.h"
#include "fingerprint/float_formats.h"

namespace ulpscope {
namespace {

using Lanes = std::array<double, kLanes>;

template <typename T>
double load(const void* data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

uint8_t loadByte(const void* data, size_t index) {
  return static_cast<const uint8_t*>(data)[index];
}

uint16_t loadWord(const void* data, size_t index) {
  uint16_t value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof value, sizeof value);
  return value;
}

double component(const void* data, DType dtype, size_t i) {
  switch (dtype) {
    case DType::Float32:
    case DType::Complex64:
      return load<float>(data, i);
    case DType::Float64:
    case DType::Complex128:
      return load<double>(data, i);
    case DType::Float16:
    case DType::Complex32:
      return widenHalf(loadWord(data, i));
    case DType::BFloat16:
      return widenBFloat16(loadWord(data, i));
    case DType::Int8:
    case DType::QInt8:
    case DType::Int1:
    case DType::Int2:
    case DType::Int3:
    case DType::Int4:
    case DType::Int5:
    case DType::Int6:
    case DType::Int7:
      return load<int8_t>(data, i);
    case DType::Int16:
      return load<int16_t>(data, i);
    case DType::UInt16:
      return load<uint16_t>(data, i);
    case DType::Int32:
    case DType::QInt32:
      return load<int32_t>(data, i);
    case DType::UInt32:
      return load<uint32_t>(data, i);
    case DType::Int64:
      return load<int64_t>(data, i);
    case DType::UInt64:
      return load<uint64_t>(data, i);
    case DType::Bool:
      return loadByte(data, i) != 0 ? 1 : 0;
    case DType::Float8_e5m2:
      return kFloat8E5M2Values[loadByte(data, i)];
    case DType::Float8_e4m3fn:
      return kFloat8E4M3FnValues[loadByte(data, i)];
    case DType::Float8_e5m2fnuz:
      return kFloat8E5M2FnuzValues[loadByte(data, i)];
    case DType::Float8_e4m3fnuz:
      return kFloat8E4M3FnuzValues[loadByte(data, i)];
    case DType::Float8_e8m0fnu:
      return kFloat8E8M0Values[loadByte(data, i)];
    default:
      return loadByte(data, i);
  }
}

double addLanes(Lanes x) {
  for (size_t half = kLanes / 2; half != 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) x[l] += x[l + half];
  }
  return x[0];
}

}  // namespace

void accumulatePlain(Accumulator& accumulator, const Chunk& chunk, bool withSketch) noexcept {
  Statistics& s = accumulator.statistics;
  const NumberKind kind = info(chunk.dtype).kind;
  const bool hasSubnormals = (kind == NumberKind::floating || kind == NumberKind::complex) &&
                             chunk.dtype != DType::Float8_e8m0fnu;
  const double smallestNormal = hasSubnormals ? std::ldexp(1.0, minimumExponent(chunk.dtype)) : 0;
  Lanes sum{};
  Lanes negative{};
  Lanes squares{};
  std::array<Lanes, kLanes> sketch{};
  BlockWords words{};
  for (size_t i = 0; i < static_cast<size_t>(chunk.components); ++i) {
    const size_t inBlock = i % kBlockComponents;
    if (inBlock == 0) words = blockWords((chunk.firstComponent + i) / kBlockComponents);
    const size_t row = inBlock / kLanes;
    const size_t lane = inBlock % kLanes;
    const double x = component(chunk.data, chunk.dtype, i);
    if (!std::isfinite(x)) {
      s.nan += std::isnan(x) ? 1 : 0;
      s.positiveInfinity += x > 0 ? 1 : 0;
      s.negativeInfinity += x < 0 ? 1 : 0;
      continue;
    }
    if (x == 0) {
      ++s.zero;
      s.negativeZero += std::signbit(x) ? 1 : 0;
    } else if (std::abs(x) < smallestNormal) {
      ++s.subnormal;
    }
    s.min = std::min(s.min, x + 0.0);  // adding 0 makes 0 of -0
    s.max = std::max(s.max, x + 0.0);
    sum[lane] += x;
    if (x < 0) negative[lane] += x;
    squares[lane] += x * x;
    const bool minus = (rowSigns(words, row) >> lane & 1) != 0;
    if (withSketch) sketch[rowRotation(words, row)][lane] += minus ? -x : x;
  }
  s.components += static_cast<uint64_t>(chunk.components);
  const double total = addLanes(sum);
  s.sum += total;
  s.l1 += total - 2 * addLanes(negative);
  s.sumSquares += addLanes(squares);
  constexpr uint32_t all = (1U << kLanes) - 1;
  if (accumulator.rotations != all) std::memset(accumulator.sketch, 0, sizeof accumulator.sketch);
  accumulator.rotations = all;
  for (size_t r = 0; r < kLanes; ++r) {
    for (size_t l = 0; l < kLanes; ++l) accumulator.sketch[r][l] += sketch[r][l];
  }
}

Sketch sketchPlain(const Accumulator& accumulator) noexcept {
  Sketch buckets{};
  for (size_t r = 0; r < kLanes; ++r) {
    if ((accumulator.rotations >> r & 1) == 0) continue;
    for (size_t b = 0; b < kSketchSize; ++b) buckets[b] += accumulator.sketch[r][b ^ r];
  }
  return buckets;
}

}  // namespace ulpscope
