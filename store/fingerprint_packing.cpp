#include "store/fingerprint_packing.h"

#include <bit>
#include <cmath>
#include <limits>

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum StatisticsFlag : uint8_t {
  kCounts = 1,        ///< a mask of counts and the counts follow
  kFloatExtrema = 2,  ///< min and max are float32
  kMaxIsMin = 4,
  kNoExtrema = 8,  ///< min = +inf, max = -inf
  kSumIsMin = 16,
  kL1IsAbsSum = 32,
  kSquaresAreL1Squared = 64,
  kSquaresAreL1 = 128,
};

enum class SketchForm : uint8_t {
  zero = 0,
  raw = 1,         ///< 16 doubles
  maskedRaw = 2,   ///< mask of the non-zero components, a double each
  fixed = 3,       ///< exponent, width, 16 integers
  maskedFixed = 4  ///< mask, exponent, width, an integer for each non-zero component
};

constexpr int kMantissaBits = 52;

bool sameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool fitsFloat(double value) {
  return sameBits(static_cast<double>(static_cast<float>(value)), value);
}

/// The significant high bytes of a double's bits; sums of small integers and of bfloat16 have few.
int significantBytes(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return bits == 0 ? 0 : 8 - std::countr_zero(bits) / 8;
}

void packTrimmed(double value, int bytes, ByteWriter& out) {
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int i = 0; i < bytes; ++i) out.u8(static_cast<uint8_t>(bits >> (56 - 8 * i)));
}

double unpackTrimmed(ByteReader& in, int bytes) {
  if (bytes > 8) throw Malformed{"a fingerprint is damaged"};
  uint64_t bits = 0;
  for (int i = 0; i < bytes; ++i) bits |= static_cast<uint64_t>(in.u8()) << (56 - 8 * i);
  return std::bit_cast<double>(bits);
}

void packStatistics(const Statistics& s, ByteWriter& out) {
  const uint64_t counts[] = {s.nan,  s.positiveInfinity, s.negativeInfinity,
                             s.zero, s.negativeZero,     s.subnormal};
  uint8_t mask = 0;
  for (int i = 0; i < 6; ++i) mask |= static_cast<uint8_t>((counts[i] != 0) << i);
  uint8_t flags = mask != 0 ? kCounts : 0;
  if (s.min == kInfinity && s.max == -kInfinity) {
    flags |= kNoExtrema;
  } else {
    if (fitsFloat(s.min) && fitsFloat(s.max)) flags |= kFloatExtrema;
    if (sameBits(s.max, s.min)) flags |= kMaxIsMin;
  }
  if (sameBits(s.sum, s.min)) flags |= kSumIsMin;
  if (sameBits(s.l1, std::fabs(s.sum))) flags |= kL1IsAbsSum;
  if (sameBits(s.sumSquares, s.l1)) {
    flags |= kSquaresAreL1;
  } else if (sameBits(s.sumSquares, s.l1 * s.l1)) {
    flags |= kSquaresAreL1Squared;
  }
  out.u8(flags);
  out.varint(s.components);
  if (mask != 0) {
    out.u8(mask);
    for (uint64_t count : counts) {
      if (count != 0) out.varint(count);
    }
  }
  if (!(flags & kNoExtrema)) {
    const auto extremum = [&](double value) {
      if (flags & kFloatExtrema) {
        out.fixed(static_cast<float>(value));
      } else {
        out.fixed(value);
      }
    };
    extremum(s.min);
    if (!(flags & kMaxIsMin)) extremum(s.max);
  }
  const int sum = flags & kSumIsMin ? 0 : significantBytes(s.sum);
  const int l1 = flags & kL1IsAbsSum ? 0 : significantBytes(s.l1);
  const int squares =
      flags & (kSquaresAreL1 | kSquaresAreL1Squared) ? 0 : significantBytes(s.sumSquares);
  out.fixed(static_cast<uint16_t>(sum | l1 << 4 | squares << 8));
  packTrimmed(s.sum, sum, out);
  packTrimmed(s.l1, l1, out);
  packTrimmed(s.sumSquares, squares, out);
}

void unpackStatistics(ByteReader& in, Statistics& s) {
  const uint8_t flags = in.u8();
  s.components = in.varint();
  if (flags & kCounts) {
    uint64_t* const counts[] = {&s.nan,  &s.positiveInfinity, &s.negativeInfinity,
                                &s.zero, &s.negativeZero,     &s.subnormal};
    const uint8_t mask = in.u8();
    for (int i = 0; i < 6; ++i) {
      if (mask >> i & 1) *counts[i] = in.varint();
    }
  }
  if (flags & kNoExtrema) {
    s.min = kInfinity;
    s.max = -kInfinity;
  } else {
    const auto extremum = [&] {
      return flags & kFloatExtrema ? static_cast<double>(in.fixed<float>()) : in.fixed<double>();
    };
    s.min = extremum();
    s.max = flags & kMaxIsMin ? s.min : extremum();
  }
  const auto lengths = in.fixed<uint16_t>();
  s.sum = unpackTrimmed(in, lengths & 15);
  if (flags & kSumIsMin) s.sum = s.min;
  s.l1 = unpackTrimmed(in, lengths >> 4 & 15);
  if (flags & kL1IsAbsSum) s.l1 = std::fabs(s.sum);
  s.sumSquares = unpackTrimmed(in, lengths >> 8 & 15);
  if (flags & kSquaresAreL1) s.sumSquares = s.l1;
  if (flags & kSquaresAreL1Squared) s.sumSquares = s.l1 * s.l1;
}

/// value = integer * 2^exponent with an odd integer, for finite values other than 0.
struct Scaled {
  int64_t integer;
  int exponent;
};

Scaled scaled(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const int biased = static_cast<int>(bits >> kMantissaBits & 0x7ff);
  uint64_t integer = bits & ((uint64_t{1} << kMantissaBits) - 1);
  if (biased != 0) integer |= uint64_t{1} << kMantissaBits;
  const int zeros = std::countr_zero(integer);
  integer >>= zeros;
  const auto magnitude = static_cast<int64_t>(integer);
  return {value < 0 ? -magnitude : magnitude, (biased != 0 ? biased : 1) - 1075 + zeros};
}

/// Appends integers of one width, lowest bit first.
class BitPacker {
 public:
  explicit BitPacker(ByteWriter& out) : out_(out) {}
  void put(uint64_t value, int width) {
    for (int done = 0; done < width;) {
      const int take = std::min(width - done, 8 - filled_);
      const auto part = static_cast<unsigned>(value >> done) & ((1u << take) - 1);
      byte_ |= part << filled_;
      filled_ += take;
      done += take;
      if (filled_ == 8) flush();
    }
  }
  void flush() {
    if (filled_ != 0) out_.u8(static_cast<uint8_t>(byte_));
    byte_ = 0;
    filled_ = 0;
  }

 private:
  ByteWriter& out_;
  unsigned byte_ = 0;
  int filled_ = 0;
};

class BitUnpacker {
 public:
  explicit BitUnpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  int64_t get(int width) {
    uint64_t value = 0;
    for (int done = 0; done < width;) {
      const int take = std::min(width - done, 8 - static_cast<int>(at_ & 7));
      const auto part = static_cast<uint64_t>(bytes_[at_ >> 3]) >> (at_ & 7) & ((1u << take) - 1);
      value |= part << done;
      at_ += static_cast<size_t>(take);
      done += take;
    }
    const int unused = 64 - width;
    return static_cast<int64_t>(value << unused) >> unused;  // extends the sign
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

constexpr int kWidestInteger = 62;  // with its sign

void packSketch(const Sketch& sketch, ByteWriter& out) {
  uint16_t mask = 0;
  bool plain = true;  // no NaN, infinity or negative zero
  for (int i = 0; i < kSketchSize; ++i) {
    if (std::bit_cast<uint64_t>(sketch[i]) != 0) mask |= static_cast<uint16_t>(1u << i);
    plain = plain && std::isfinite(sketch[i]) && !(sketch[i] == 0 && std::signbit(sketch[i]));
  }
  if (mask == 0) return out.u8(static_cast<uint8_t>(SketchForm::zero));
  const int count = std::popcount(mask);
  const bool masked = count < kSketchSize;

  int exponent = 0;
  int width = 0;
  if (plain) {
    Scaled parts[kSketchSize];
    int highest = std::numeric_limits<int>::min();
    exponent = std::numeric_limits<int>::max();
    for (int i = 0; i < kSketchSize; ++i) {
      if (!(mask >> i & 1)) continue;
      parts[i] = scaled(sketch[i]);
      const int bits = static_cast<int>(std::bit_width(
          static_cast<uint64_t>(parts[i].integer < 0 ? -parts[i].integer : parts[i].integer)));
      exponent = std::min(exponent, parts[i].exponent);
      highest = std::max(highest, parts[i].exponent + bits);
    }
    width = highest - exponent + 1;
    if (width <= kWidestInteger) {
      out.u8(static_cast<uint8_t>(masked ? SketchForm::maskedFixed : SketchForm::fixed));
      if (masked) out.fixed(mask);
      out.fixed(static_cast<int16_t>(exponent));
      out.u8(static_cast<uint8_t>(width));
      BitPacker packer(out);
      for (int i = 0; i < kSketchSize; ++i) {
        if (!(mask >> i & 1)) continue;
        const auto integer = static_cast<uint64_t>(parts[i].integer);
        packer.put(integer << (parts[i].exponent - exponent), width);
      }
      return packer.flush();
    }
  }
  out.u8(static_cast<uint8_t>(masked ? SketchForm::maskedRaw : SketchForm::raw));
  if (masked) out.fixed(mask);
  for (int i = 0; i < kSketchSize; ++i) {
    if (mask >> i & 1) out.fixed(sketch[i]);
  }
}

void unpackSketch(ByteReader& in, Sketch& sketch) {
  sketch.fill(0);
  const auto form = static_cast<SketchForm>(in.u8());
  if (form == SketchForm::zero) return;
  if (form > SketchForm::maskedFixed) throw Malformed{"a sketch is damaged"};
  const bool masked = form == SketchForm::maskedRaw || form == SketchForm::maskedFixed;
  const uint16_t mask = masked ? in.fixed<uint16_t>() : uint16_t{0xffff};
  if (form == SketchForm::raw || form == SketchForm::maskedRaw) {
    for (int i = 0; i < kSketchSize; ++i) {
      if (mask >> i & 1) sketch[i] = in.fixed<double>();
    }
    return;
  }
  const int exponent = in.fixed<int16_t>();
  const int width = in.u8();
  if (width == 0 || width > kWidestInteger) throw Malformed{"a sketch is damaged"};
  BitUnpacker unpacker(in.raw((std::popcount(mask) * width + 7) / 8));
  for (int i = 0; i < kSketchSize; ++i) {
    if (mask >> i & 1) sketch[i] = std::ldexp(static_cast<double>(unpacker.get(width)), exponent);
  }
}

}  // namespace

void packFingerprintRest(const Fingerprint& fingerprint, ByteWriter& out) {
  out.u8(static_cast<uint8_t>(fingerprint.level));
  if (fingerprint.level >= Level::statistics) packStatistics(fingerprint.statistics, out);
  if (fingerprint.level >= Level::full) packSketch(fingerprint.sketch, out);
}

void unpackFingerprintRest(ByteReader& in, Fingerprint& fingerprint) {
  const uint8_t level = in.u8();
  if (level > static_cast<uint8_t>(Level::full)) throw Malformed{"a fingerprint is damaged"};
  fingerprint.level = static_cast<Level>(level);
  if (fingerprint.level >= Level::statistics) unpackStatistics(in, fingerprint.statistics);
  if (fingerprint.level >= Level::full) unpackSketch(in, fingerprint.sketch);
}

}  // namespace ulpscope
