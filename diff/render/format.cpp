#include "diff/render/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ulpscope {

std::string grouped(int64_t n) {
  std::string digits = fmt::format("{}", n < 0 ? -n : n);
  for (int at = int(digits.size()) - 3; at > 0; at -= 3) digits.insert(size_t(at), ",");
  return n < 0 ? "-" + digits : digits;
}

std::string counted(int64_t n, std::string_view one, std::string_view many) {
  if (n == 1) return fmt::format("1 {}", one);
  if (many.empty()) return fmt::format("{} {}s", grouped(n), one);
  return fmt::format("{} {}", grouped(n), many);
}

std::string percent(double share) {
  if (!std::isfinite(share)) return "?";
  if (share <= 0) return "0%";
  if (share >= 1) return "100%";
  const double value = share * 100;
  if (value < 0.01) return "<0.01%";
  if (value > 99.99) return ">99.99%";
  // As many digits as it takes to tell it from 0% and 100%.
  const int digits = value < 0.1 || value > 99.9 ? 2 : value < 1 || value > 99 ? 1 : 0;
  return fmt::format("{:.{}f}%", value, digits);
}

std::string magnitude(double value) {
  if (std::isnan(value)) return "?";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double size = std::fabs(value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e5) return fmt::format("{:.1e}", value);
  if (size >= 10) return fmt::format("{:.0f}", value);
  return fmt::format("{:.2g}", value);
}

std::string tensorText(DType dtype, std::span<const int64_t> sizes) {
  return fmt::format("{}[{}]", info(dtype).shortName, fmt::join(sizes, ", "));
}

std::string frameText(const Frame& frame) {
  const size_t slash = frame.file.rfind('/');
  const std::string_view file =
      slash == std::string::npos ? std::string_view(frame.file)
                                 : std::string_view(frame.file).substr(slash + 1);
  std::string text = fmt::format("{}:{}", file, frame.line);
  if (!frame.function.empty()) text += " in " + frame.function;
  return text;
}

const Frame* programFrame(const Stack& stack) {
  const auto outside = std::find_if(stack.begin(), stack.end(), [](const Frame& frame) {
    return frame.file.find("-packages/torch/") == std::string::npos;
  });
  if (outside != stack.end()) return &*outside;
  return stack.empty() ? nullptr : &stack.front();
}

std::string shellQuoted(std::string_view argument) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain)) {
    return std::string(argument);
  }
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string Paint::wrap(std::string_view code, std::string_view text) const {
  if (!on) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace ulpscope
