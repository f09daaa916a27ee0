#include "gate/operand_line.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace ulpscope::gate {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr int kDigestLetters = 8;  // of six bits
/// A signed sum is kept as a whole number of these parts of the norm, as that is written.
constexpr double kPart = 1e-6;

constexpr std::array kLayouts = {Layout::strided, Layout::sparse, Layout::nested, Layout::mkldnn,
                                 Layout::other};

std::vector<int64_t> rowMajor(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

template <class T>
bool number(std::string_view& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(size_t(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool numbers(std::string_view& text, std::vector<int64_t>& values) {
  do {
    if (!number(text, values.emplace_back())) return false;
  } while (take(text, ','));
  return true;
}

}  // namespace

std::string_view layoutName(Layout layout) {
  switch (layout) {
    case Layout::strided: return "strided";
    case Layout::sparse: return "sparse";
    case Layout::nested: return "nested";
    case Layout::mkldnn: return "mkldnn";
    case Layout::other: return "other";
  }
  return "other";
}

std::string typeWord(const TensorType& type) {
  std::string text = fmt::format("{}[{}]", info(type.dtype).shortName, fmt::join(type.sizes, ","));
  if (type.layout != Layout::strided) {
    text += fmt::format("~{}", layoutName(type.layout));
  } else if (type.strides != rowMajor(type.sizes)) {
    text += fmt::format("/{}", fmt::join(type.strides, ","));
  }
  if (type.device != "cpu" && !type.device.empty()) text += "%" + type.device;
  return text;
}

bool parseType(std::string_view text, TensorType& type) {
  const size_t open = text.find('[');
  if (open == std::string_view::npos) return false;
  type.dtype = DType::Undefined;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (info(DType(i)).shortName == text.substr(0, open)) type.dtype = DType(i);
  }
  text.remove_prefix(open + 1);
  if (!text.starts_with(']') && !numbers(text, type.sizes)) return false;
  if (!take(text, ']')) return false;
  type.device = "cpu";
  if (const size_t device = text.find('%'); device != std::string_view::npos) {
    type.device = text.substr(device + 1);
    text = text.substr(0, device);
  }
  if (take(text, '~')) {
    for (const Layout layout : kLayouts) {
      if (layoutName(layout) == text) type.layout = layout;
    }
    return type.layout != Layout::strided;
  }
  type.strides = rowMajor(type.sizes);
  if (take(text, '/')) {
    type.strides.clear();
    if (!numbers(text, type.strides)) return false;
    if (type.strides.size() != type.sizes.size()) return false;
  }
  return text.empty();
}

std::string valueWord(const Fingerprint& fingerprint) {
  std::string text;
  for (int i = 0; i < kDigestLetters; ++i) {
    text += kAlphabet[(fingerprint.digest.low >> (6 * i)) & 63];
  }
  const Statistics& statistics = fingerprint.statistics;
  if (fingerprint.level < Level::statistics) return text;
  char digits[32];
  const auto end = fmt::format_to_n(digits, sizeof digits, "{:.5g}", std::sqrt(statistics.sumSquares)).out;
  double norm = 0;
  std::from_chars(digits, end, norm);
  text += ',';
  text.append(digits, end);
  if (fingerprint.level == Level::full && norm > 0 && std::isfinite(norm)) {
    double even = 0, odd = 0;
    for (int i = 0; i < kSketchSize; i += 2) {
      even += fingerprint.sketch[size_t(i)];
      odd += fingerprint.sketch[size_t(i) + 1];
    }
    for (const double sum : {even, odd}) {
      text += ',';
      text += std::to_string(std::llround(sum / norm / kPart));
    }
  }
  const auto count = [&](char letter, uint64_t n) {
    if (n > 0) text += fmt::format(",{}{}", letter, n);
  };
  count('n', statistics.nan);
  count('p', statistics.positiveInfinity);
  count('m', statistics.negativeInfinity);
  return text;
}

bool parseValue(std::string_view text, uint64_t components, Fingerprint& fingerprint) {
  if (text.size() < kDigestLetters) return false;
  fingerprint = {};
  for (int i = 0; i < kDigestLetters; ++i) {
    const size_t value = kAlphabet.find(text[size_t(i)]);
    if (value == std::string_view::npos) return false;
    fingerprint.digest.low |= uint64_t(value) << (6 * i);
  }
  text.remove_prefix(kDigestLetters);
  if (text.empty()) return true;
  double norm = 0;
  if (!take(text, ',') || !number(text, norm)) return false;
  fingerprint.level = Level::full;
  Statistics& statistics = fingerprint.statistics;
  statistics.components = components;
  statistics.sumSquares = norm * norm;
  int part = 0;
  while (!text.empty()) {
    if (!take(text, ',') || text.empty()) return false;
    uint64_t* count = text[0] == 'n' ? &statistics.nan : text[0] == 'p' ? &statistics.positiveInfinity
                      : text[0] == 'm' ? &statistics.negativeInfinity : nullptr;
    if (count != nullptr) {
      text.remove_prefix(1);
      if (!number(text, *count)) return false;
    } else {
      int64_t parts = 0;
      if (part == 2 || !number(text, parts)) return false;
      fingerprint.sketch[size_t(part++)] = double(parts) * kPart * norm;
    }
  }
  return true;
}

}  // namespace ulpscope::gate
