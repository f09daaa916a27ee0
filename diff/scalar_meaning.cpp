#include "diff/scalar_meaning.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ulpscope {
namespace {

struct Default {
  std::string_view argument;
  std::string_view text;
};
constexpr std::array<Default, 6> kDefaults{{
    {"device", "cpu"},
    {"layout", "Strided"},
    {"pin_memory", "False"},
    {"non_blocking", "False"},
    {"memory_format", "Contiguous"},
    {"memory_format", "Preserve"},
}};

/// Lists with one entry for each spatial dimension; a single entry stands for all of them.
constexpr std::array<std::string_view, 6> kWindows{
    "kernel_size", "stride", "padding", "dilation", "output_padding", "output_size",
};

std::string numberOr(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::string(text);
  // An integer that double can't hold stays as it is.
  const bool integer = text.find_first_not_of("-0123456789") == std::string_view::npos;
  if (integer && text.size() > 15) return std::string(text);
  char shortest[32];
  return std::string(shortest, std::to_chars(shortest, shortest + sizeof shortest, value).ptr);
}

/// "[2, 2]" -> "[2]"
std::string oneEntry(std::string_view list) {
  const std::string_view inside = list.substr(1, list.size() - 2);
  const size_t comma = inside.find(", ");
  if (comma == std::string_view::npos) return std::string(list);
  const std::string_view first = inside.substr(0, comma);
  for (size_t at = 0; at < inside.size();) {
    const size_t next = std::min(inside.find(", ", at), inside.size());
    if (inside.substr(at, next - at) != first) return std::string(list);
    at = next + 2;
  }
  return "[" + std::string(first) + "]";
}

}  // namespace

std::string meaningOf(std::string_view argument, std::string_view text) {
  if (text.empty() || text == "None" || argument == "memory_format") return {};
  for (const Default& each : kDefaults) {
    if ((argument.empty() || each.argument == argument) && each.text == text) return {};
  }
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    const bool window =
        argument.empty() || std::find(kWindows.begin(), kWindows.end(), argument) != kWindows.end();
    return window ? oneEntry(text) : std::string(text);
  }
  return numberOr(text);
}

bool meanTheSame(std::string_view argument, std::string_view a, std::string_view b) {
  if (a == b) return true;
  const std::string x = meaningOf(argument, a), y = meaningOf(argument, b);
  return x == y || (argument == "dtype" && (x.empty() || y.empty()));
}

}  // namespace ulpscope
