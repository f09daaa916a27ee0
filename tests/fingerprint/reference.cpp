#include "reference.h"

#include <bit>
#include <cmath>
#include <iomanip>
#include <limits>

namespace ulpscope::test {
namespace {

template <typename T>
T at(const std::vector<uint8_t>& bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// A small float by its definition, in float64 arithmetic.
double smallFloat(unsigned bits, int exponentBits, int fractionBits, int bias) {
  const unsigned fraction = bits & ((1U << fractionBits) - 1);
  const auto exponent = static_cast<int>((bits >> fractionBits) & ((1U << exponentBits) - 1));
  const double sign = bits >> (exponentBits + fractionBits) & 1 ? -1.0 : 1.0;
  const double unit = std::ldexp(1.0, -fractionBits);
  if (exponent == 0) return sign * std::ldexp(fraction * unit, 1 - bias);
  return sign * std::ldexp(1 + fraction * unit, exponent - bias);
}

double ieee(unsigned bits, int exponentBits, int fractionBits) {
  const unsigned fraction = bits & ((1U << fractionBits) - 1);
  const unsigned exponent = (bits >> fractionBits) & ((1U << exponentBits) - 1);
  if (exponent == (1U << exponentBits) - 1) {
    if (fraction != 0) return std::numeric_limits<double>::quiet_NaN();
    const bool minus = bits >> (exponentBits + fractionBits) & 1;
    return minus ? -std::numeric_limits<double>::infinity()
                 : std::numeric_limits<double>::infinity();
  }
  return smallFloat(bits, exponentBits, fractionBits, (1 << (exponentBits - 1)) - 1);
}

double tree(std::vector<double> x) {
  while (x.size() > 1) {
    std::vector<double> half(x.size() / 2);
    for (size_t i = 0; i < half.size(); ++i) half[i] = x[i] + x[i + half.size()];
    x = half;
  }
  return x[0];
}

uint64_t word(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

int smallestNormalExponent(DType dtype) {
  switch (dtype) {
    case DType::Float16:
    case DType::Complex32:
    case DType::Float8_e5m2:
      return -14;
    case DType::Float32:
    case DType::Complex64:
    case DType::BFloat16:
      return -126;
    case DType::Float64:
    case DType::Complex128:
      return -1022;
    case DType::Float8_e4m3fn:
      return -6;
    case DType::Float8_e5m2fnuz:
      return -15;
    case DType::Float8_e4m3fnuz:
      return -7;
    default:
      return -2000;
  }
}

size_t componentBytes(DType dtype) {
  const bool two = info(dtype).kind == NumberKind::complex || dtype == DType::Bits16;
  return info(dtype).bytes / (two ? 2U : 1U);
}

}  // namespace

double componentAt(const std::vector<uint8_t>& bytes, DType dtype, size_t i) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  switch (dtype) {
    case DType::UInt8:
    case DType::QUInt8:
      return at<uint8_t>(bytes, i);
    case DType::Int8:
    case DType::QInt8:
      return at<int8_t>(bytes, i);
    case DType::Int16:
      return at<int16_t>(bytes, i);
    case DType::UInt16:
      return at<uint16_t>(bytes, i);
    case DType::Int32:
    case DType::QInt32:
      return at<int32_t>(bytes, i);
    case DType::UInt32:
      return at<uint32_t>(bytes, i);
    case DType::Int64:
      return static_cast<double>(at<int64_t>(bytes, i));
    case DType::UInt64:
      return static_cast<double>(at<uint64_t>(bytes, i));
    case DType::Float16:
    case DType::Complex32:
      return ieee(at<uint16_t>(bytes, i), 5, 10);
    case DType::BFloat16:
      return ieee(at<uint16_t>(bytes, i), 8, 7);
    case DType::Float32:
    case DType::Complex64:
      return at<float>(bytes, i);
    case DType::Float64:
    case DType::Complex128:
      return at<double>(bytes, i);
    case DType::Bool:
      return bytes[i] == 0 ? 0 : 1;
    case DType::Float8_e5m2:
      return ieee(bytes[i], 5, 2);
    case DType::Float8_e4m3fn:
      return (bytes[i] & 0x7f) == 0x7f ? nan : smallFloat(bytes[i], 4, 3, 7);
    case DType::Float8_e5m2fnuz:
      return bytes[i] == 0x80 ? nan : smallFloat(bytes[i], 5, 2, 16);
    case DType::Float8_e4m3fnuz:
      return bytes[i] == 0x80 ? nan : smallFloat(bytes[i], 4, 3, 8);
    case DType::Float8_e8m0fnu:
      return bytes[i] == 0xff ? nan : std::ldexp(1.0, bytes[i] - 127);
    default:
      if (info(dtype).kind == NumberKind::signedInt) return at<int8_t>(bytes, i);
      return bytes[i];
  }
}

Reference reference(const std::vector<uint8_t>& bytes, DType dtype) {
  Reference result{};
  Statistics& s = result.statistics;
  s.min = std::numeric_limits<double>::infinity();
  s.max = -s.min;
  const double normal = std::ldexp(1.0, smallestNormalExponent(dtype));
  const size_t components = bytes.size() / componentBytes(dtype);
  const size_t perChunk = static_cast<size_t>(kChunkBytes) / componentBytes(dtype);
  std::vector<std::vector<double>> cells(16, std::vector<double>(16, 0.0));
  for (size_t first = 0; first < components; first += perChunk) {
    std::vector<double> sum(16, 0.0);
    std::vector<double> negative(16, 0.0);
    std::vector<double> squares(16, 0.0);
    std::vector<std::vector<double>> chunk(16, std::vector<double>(16, 0.0));
    for (size_t i = first; i < components && i < first + perChunk; ++i) {
      const double x = componentAt(bytes, dtype, i);
      ++s.components;
      if (std::isnan(x)) {
        ++s.nan;
      } else if (std::isinf(x)) {
        ++(x > 0 ? s.positiveInfinity : s.negativeInfinity);
      } else {
        if (x == 0) ++s.zero;
        if (x == 0 && std::signbit(x)) ++s.negativeZero;
        if (x != 0 && std::fabs(x) < normal) ++s.subnormal;
        if (x < s.min) s.min = x == 0 ? 0.0 : x;
        if (x > s.max) s.max = x == 0 ? 0.0 : x;
        const size_t lane = i % 16;
        const size_t row = i / 16 % 64;
        const uint64_t block = i / 1024;
        sum[lane] += x;
        if (x < 0) negative[lane] += x;
        squares[lane] += x * x;
        const bool minus = word(block * 20 + row / 4) >> (row % 4 * 16 + lane) & 1;
        const size_t rotation = word(block * 20 + 16 + row / 16) >> (row % 16 * 4) & 15;
        chunk[rotation][lane] += minus ? -x : x;
      }
    }
    const double chunkSum = tree(sum);
    s.sum += chunkSum;
    s.l1 += chunkSum - 2 * tree(negative);
    s.sumSquares += tree(squares);
    for (size_t r = 0; r < 16; ++r) {
      for (size_t l = 0; l < 16; ++l) cells[r][l] += chunk[r][l];
    }
  }
  for (size_t b = 0; b < 16; ++b) {
    for (size_t r = 0; r < 16; ++r) result.sketch[b] += cells[r][b ^ r];
  }
  return result;
}

std::vector<DType> allDTypes() {
  std::vector<DType> dtypes;
  for (int number = 0; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (info(dtype).bytes != 0) dtypes.push_back(dtype);
  }
  return dtypes;
}

Fingerprint fingerprintOf(const void* data, DType dtype, int64_t elements) {
  StridedView view{data, dtype};
  view.dim = 1;
  view.sizes = &elements;
  return fingerprint(view, Level::full);
}

namespace {

// One component, near `value` where the format has such numbers.
void put(std::vector<uint8_t>& bytes, DType dtype, size_t i, double value) {
  uint8_t* target = bytes.data() + i * componentBytes(dtype);
  const auto store = [target](auto x) { std::memcpy(target, &x, sizeof x); };
  switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
      return store(value);
    case DType::Float32:
    case DType::Complex64:
      return store(static_cast<float>(value));
    case DType::BFloat16: {
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
      return store(static_cast<uint16_t>(bits >> 16));
    }
    case DType::Float16:
    case DType::Complex32: {
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
      const uint32_t magnitude =
          (bits & 0x7fffffff) == 0 ? 0 : ((bits & 0x7fffffff) >> 13) - (112U << 10);
      return store(static_cast<uint16_t>((bits >> 16 & 0x8000) | magnitude));
    }
    default: {
      // Of the others, some pattern that is a finite number.
      auto bits = static_cast<uint64_t>(static_cast<int64_t>(value * 16));
      std::memcpy(target, &bits, componentBytes(dtype));
      const bool special = !std::isfinite(componentAt(bytes, dtype, i));
      if (special) *target = value < 0 ? 0x91 : 0x11;
    }
  }
}

}  // namespace

std::vector<uint8_t> finiteBytes(DType dtype, size_t elements, uint64_t seed) {
  std::vector<uint8_t> bytes(elements * info(dtype).bytes);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (size_t i = 0; i < bytes.size() / componentBytes(dtype); ++i) {
    double value = normal(random);
    if (std::fabs(value) < 1e-3) value = 0.5;
    put(bytes, dtype, i, value);
  }
  return bytes;
}

std::vector<uint8_t> mixedBytes(DType dtype, size_t elements, uint64_t seed) {
  std::vector<uint8_t> bytes = finiteBytes(dtype, elements, seed);
  std::mt19937_64 random(seed + 1);
  const size_t components = bytes.size() / componentBytes(dtype);
  for (size_t i = 0; i < components; ++i) {
    switch (random() % 16) {
      case 0: {  // any bits
        const uint64_t bits = random();
        std::memcpy(bytes.data() + i * componentBytes(dtype), &bits, componentBytes(dtype));
        break;
      }
      case 1:
        put(bytes, dtype, i, 0.0);
        break;
      case 2:
        put(bytes, dtype, i, -0.0);
        break;
      case 3: {  // low bits only: subnormal in floating formats
        std::memset(bytes.data() + i * componentBytes(dtype), 0, componentBytes(dtype));
        bytes[i * componentBytes(dtype)] = static_cast<uint8_t>(random() % 4);
        break;
      }
      case 4: {  // all ones: NaN in most floating formats; with the lowest fraction bits clear
        if (random() % 64 != 0) break;
        const uint64_t bits = ~uint64_t{0};
        std::memcpy(bytes.data() + i * componentBytes(dtype), &bits, componentBytes(dtype));
        break;
      }
      default:
        break;
    }
  }
  const auto infinity = std::numeric_limits<float>::infinity();
  if (components > 9 && (dtype == DType::Float32 || dtype == DType::Complex64)) {
    std::memcpy(bytes.data() + 4 * 7, &infinity, 4);
    const float minus = -infinity;
    std::memcpy(bytes.data() + 4 * 9, &minus, 4);
  }
  return bytes;
}

namespace {

bool same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace

::testing::AssertionResult sameBits(const Statistics& a, const Statistics& b) {
  auto result = ::testing::AssertionFailure();
  bool failed = false;
  const auto check = [&](const char* name, auto x, auto y) {
    if (same(static_cast<double>(x), static_cast<double>(y))) return;
    failed = true;
    result << name << ": " << x << " and " << y << "; ";
  };
  result << std::setprecision(17);
  check("components", a.components, b.components);
  check("nan", a.nan, b.nan);
  check("+inf", a.positiveInfinity, b.positiveInfinity);
  check("-inf", a.negativeInfinity, b.negativeInfinity);
  check("zero", a.zero, b.zero);
  check("-0", a.negativeZero, b.negativeZero);
  check("subnormal", a.subnormal, b.subnormal);
  check("min", a.min, b.min);
  check("max", a.max, b.max);
  check("sum", a.sum, b.sum);
  check("l1", a.l1, b.l1);
  check("sumSquares", a.sumSquares, b.sumSquares);
  return failed ? result : ::testing::AssertionSuccess();
}

::testing::AssertionResult sameBits(const Sketch& a, const Sketch& b) {
  for (size_t k = 0; k < a.size(); ++k) {
    if (same(a[k], b[k])) continue;
    return ::testing::AssertionFailure()
           << "bucket " << k << ": " << std::setprecision(17) << a[k] << " and " << b[k];
  }
  return ::testing::AssertionSuccess();
}

}  // namespace ulpscope::test
