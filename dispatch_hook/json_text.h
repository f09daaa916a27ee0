#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace ulpscope {

/// A JSON string literal, quotes included. Bytes that are not ASCII pass unchanged.
inline std::string jsonText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace ulpscope
