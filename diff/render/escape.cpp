#include "diff/render/escape.h"

#include <algorithm>
#include <cstdint>

namespace ulpscope {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Bytes of the character at the start of `text`, 0 where it is not UTF-8 (overlong forms, surrogates
/// and numbers past U+10FFFF are not).
size_t characterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

/// Calls f with each character, invalid bytes as U+FFFD.
template <class F>
void eachCharacter(std::string_view text, F&& f) {
  while (!text.empty()) {
    const size_t bytes = characterBytes(text);
    f(bytes == 0 ? kReplacement : text.substr(0, bytes));
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
}

bool forbiddenInXml(std::string_view character) {
  if (character.size() == 1) {
    const auto c = static_cast<unsigned char>(character[0]);
    return c < 0x20 && c != '\t' && c != '\n' && c != '\r';
  }
  return character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";  // U+FFFE, U+FFFF
}

std::string onOneLine(std::string_view text) {
  std::string line = validUtf8(text);
  std::replace_if(line.begin(), line.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return line;
}

std::string workflowEscaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : validUtf8(text)) {
    if (c == '%') out += "%25";
    else if (c == '\r') out += "%0D";
    else if (c == '\n') out += "%0A";
    else if (property && c == ':') out += "%3A";
    else if (property && c == ',') out += "%2C";
    else out += c;
  }
  return out;
}

}  // namespace

std::string validUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  eachCharacter(text, [&](std::string_view character) { out += character; });
  return out;
}

std::string xmlEscaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  eachCharacter(text, [&](std::string_view character) {
    if (character == "&") out += "&amp;";
    else if (character == "<") out += "&lt;";
    else if (character == ">") out += "&gt;";
    else if (character == "\"") out += "&quot;";
    else if (character == "'") out += "&#39;";
    else out += forbiddenInXml(character) ? kReplacement : character;
  });
  return out;
}

std::string markdownCode(std::string_view text) {
  const std::string line = onOneLine(text);
  if (line.find_first_not_of(' ') == std::string::npos) return {};
  // A fence of one backtick more than the longest run inside.
  size_t longest = 0, run = 0;
  for (const char c : line) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string_view pad = line.front() == '`' || line.back() == '`' ? " " : "";
  std::string out = fence;
  out += pad;
  for (const char c : line) {
    if (c == '|') out += '\\';  // ends a table's cell, even inside code
    out += c;
  }
  out += pad;
  return out + fence;
}

std::string markdownEscaped(std::string_view text) {
  std::string out;
  for (const char c : onOneLine(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '@') {
      out += "&#64;";  // would call a person or a team
    } else {
      if (std::string_view("\\`*_[]|~#>").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string workflowMessage(std::string_view text) { return workflowEscaped(text, false); }
std::string workflowProperty(std::string_view text) { return workflowEscaped(text, true); }

}  // namespace ulpscope
