#include "store/scalars.h"

#include <fmt/format.h>

#include <cmath>

namespace ulpscope {
namespace {

/// As Python's repr(float): shortest digits that read back, exponents below -4 and from 16 on.
std::string floatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// As Python's repr(complex): parts without ".0", no real part where it is +0.
std::string complexText(double real, double imaginary) {
  const auto part = [](double value) {
    std::string text = floatText(value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  if (real == 0 && !std::signbit(real)) return part(imaginary) + "j";
  std::string second = part(imaginary);
  if (second.front() != '-') second.insert(second.begin(), '+');
  return "(" + part(real) + second + "j)";
}

const char* boolText(uint8_t value) {
  return value != 0 ? "True" : "False";
}

template <class T, class Text>
std::string listText(ByteReader& in, Text&& text) {
  const auto count = in.fixed<uint32_t>();
  ByteReader elements(in.raw(uint64_t{count} * sizeof(T)));
  std::string result = "[";
  for (uint32_t i = 0; i < count; ++i) {
    if (i != 0) result += ", ";
    result += text(elements.fixed<T>());
  }
  return result + "]";
}

std::string scalarText(ByteReader& in, ScalarTag tag) {
  switch (tag) {
    case ScalarTag::none:
      return "None";
    case ScalarTag::boolean:
      return boolText(in.u8());
    case ScalarTag::integer:
      return std::to_string(in.fixed<int64_t>());
    case ScalarTag::floating:
      return floatText(in.fixed<double>());
    case ScalarTag::complexNumber: {
      const auto real = in.fixed<double>();
      return complexText(real, in.fixed<double>());
    }
    case ScalarTag::text: {
      const auto bytes = in.raw(in.fixed<uint32_t>());
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    case ScalarTag::integers:
      return listText<int64_t>(in, [](int64_t value) { return std::to_string(value); });
    case ScalarTag::floatings:
      return listText<double>(in, floatText);
    case ScalarTag::booleans:
      return listText<uint8_t>(in, boolText);
    case ScalarTag::dtype:
      return std::string(info(static_cast<DType>(in.u8())).name);
  }
  throw Malformed{"a scalar argument is damaged"};
}

void skipScalar(ByteReader& in, ScalarTag tag) {
  switch (tag) {
    case ScalarTag::none:
      return;
    case ScalarTag::boolean:
    case ScalarTag::dtype:
      in.raw(1);
      return;
    case ScalarTag::integer:
    case ScalarTag::floating:
      in.raw(8);
      return;
    case ScalarTag::complexNumber:
      in.raw(16);
      return;
    case ScalarTag::text:
    case ScalarTag::booleans:
      in.raw(in.fixed<uint32_t>());
      return;
    case ScalarTag::integers:
    case ScalarTag::floatings:
      in.raw(uint64_t{8} * in.fixed<uint32_t>());
      return;
  }
  throw Malformed{"a scalar argument is damaged"};
}

}  // namespace

void checkScalars(std::span<const std::byte> packed) {
  ByteReader in(packed);
  while (!in.empty()) {
    in.raw(sizeof(int16_t));
    skipScalar(in, static_cast<ScalarTag>(in.u8()));
  }
}

std::vector<Scalar> unpackScalars(std::span<const std::byte> packed) {
  std::vector<Scalar> scalars;
  ByteReader in(packed);
  while (!in.empty()) {
    Scalar scalar;
    scalar.arg = in.fixed<int16_t>();
    scalar.text = scalarText(in, static_cast<ScalarTag>(in.u8()));
    scalars.push_back(std::move(scalar));
  }
  return scalars;
}

}  // namespace ulpscope
