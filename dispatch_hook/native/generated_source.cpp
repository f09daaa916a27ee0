#include "dispatch_hook/native/generated_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace ulpscope::native {

namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kHandle = "[Provenance debug handles] ";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool isNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view nameAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && isNamePart(text[end])) ++end;
  return text.substr(at, end - at);
}

/// Functions whose calls are looked for, beside the kernels: those that hide ops from the dispatcher.
bool isShim(std::string_view name) { return name.starts_with("aoti_torch_cpu_"); }

struct NumberType {
  std::string_view name;
  KernelParameter::Kind kind;
  uint8_t bytes;
  bool isSigned;
};
using Kind = KernelParameter::Kind;
constexpr std::array<NumberType, 16> kNumbers{{
    {"int64_t", Kind::integer, 8, true},   {"long", Kind::integer, 8, true},
    {"long long", Kind::integer, 8, true}, {"int32_t", Kind::integer, 4, true},
    {"int", Kind::integer, 4, true},       {"int16_t", Kind::integer, 2, true},
    {"int8_t", Kind::integer, 1, true},    {"uint64_t", Kind::integer, 8, false},
    {"uint32_t", Kind::integer, 4, false}, {"uint16_t", Kind::integer, 2, false},
    {"uint8_t", Kind::integer, 1, false},  {"size_t", Kind::integer, 8, false},
    {"bool", Kind::integer, 1, false},     {"double", Kind::float64, 8, true},
    {"float", Kind::float32, 4, true},     {"std::size_t", Kind::integer, 8, false},
}};

bool readType(KernelParameter& parameter) {
  if (parameter.type.find('*') != std::string::npos) {
    parameter.kind = Kind::pointer;
    return true;
  }
  std::string_view plain = parameter.type;
  if (plain.starts_with("const ")) plain = trimmed(plain.substr(6));
  const auto* known =
      std::ranges::find_if(kNumbers, [&](const NumberType& type) { return type.name == plain; });
  if (known == kNumbers.end()) return false;
  parameter.kind = known->kind;
  parameter.bytes = known->bytes;
  parameter.isSigned = known->isSigned;
  parameter.isBool = plain == "bool";
  return true;
}

}  // namespace

KernelSignature parseParameters(std::string_view text) {
  KernelSignature signature;
  while (!trimmed(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    size_t nameBegin = part.size();
    while (nameBegin > 0 && isNamePart(part[nameBegin - 1])) --nameBegin;
    KernelParameter& parameter = signature.parameters.emplace_back();
    parameter.name = part.substr(nameBegin);
    std::string_view type = trimmed(part.substr(0, nameBegin));
    for (const std::string_view word : {"__restrict__", "__restrict", "restrict"}) {
      if (type.ends_with(word)) type = trimmed(type.substr(0, type.size() - word.size()));
    }
    parameter.type = type;
    if (!readType(parameter)) signature.complete = false;
  }
  return signature;
}

GeneratedSource::GeneratedSource(std::string text) : text_(std::move(text)) {
  readDeclarations();
  readCalls();
}

void GeneratedSource::readDeclarations() {
  constexpr std::string_view kExtern = "extern \"C\"";
  const std::string_view all = text_;
  for (size_t at = all.find(kExtern); at != std::string_view::npos; at = all.find(kExtern, at + 1)) {
    const size_t open = all.find('(', at);
    const size_t brace = all.find_first_of("{;", at);
    if (open == std::string_view::npos || brace < open) continue;  // a block, or no function
    const std::string_view head = trimmed(all.substr(at + kExtern.size(), open - at - kExtern.size()));
    size_t nameBegin = head.size();
    while (nameBegin > 0 && isNamePart(head[nameBegin - 1])) --nameBegin;
    const std::string_view result = trimmed(head.substr(0, nameBegin));
    if (!result.ends_with("void")) continue;
    const size_t close = all.find(')', open);
    if (close == std::string_view::npos) return;
    const std::string name(head.substr(nameBegin));
    kernels_.try_emplace(name, parseParameters(all.substr(open + 1, close - open - 1)));
    const size_t next = all.find_first_not_of(kSpace, close + 1);
    if (next == std::string_view::npos || all[next] != '{') continue;
    size_t end = next, depth = 0;
    for (; end < all.size(); ++end) {
      if (all[end] == '{') ++depth;
      if (all[end] == '}' && --depth == 0) break;
    }
    definitions_.try_emplace(name, at, std::min(end + 1, all.size()) - at);
  }
}

void GeneratedSource::readCalls() {
  std::string_view rest = text_;
  std::string handle;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    lines_.push_back(line);
    if (line.starts_with("//")) {
      const size_t at = line.find(kHandle);
      if (at != std::string_view::npos) {
        handle = trimmed(line.substr(at + kHandle.size()));
      }
      continue;
    }
    if (line.starts_with("extern")) continue;
    for (size_t open = line.find('('); open != std::string_view::npos;
         open = line.find('(', open + 1)) {
      size_t begin = open;
      while (begin > 0 && isNamePart(line[begin - 1])) --begin;
      const std::string name(line.substr(begin, open - begin));
      if (name.empty() || (!isShim(name) && !kernels_.contains(name))) continue;
      WrittenCall& call = calls_.emplace_back();
      call.function = name;
      call.line = lines_.size() - 1;
      call.buffers = argumentsOf(line.substr(open + 1));
      if (handle.starts_with(name + ":")) call.handle = std::exchange(handle, {});
    }
  }
}

std::vector<std::string> argumentsOf(std::string_view text) {
  std::vector<std::string> buffers;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(' || c == '{' || c == '[') ++depth;
    const bool closes = c == ')' || c == '}' || c == ']';
    if (depth == 0 && (c == ',' || closes)) {
      std::string_view part = text.substr(begin, at - begin);
      begin = at + 1;
      constexpr std::string_view kView = "reinterpret_tensor_wrapper(";
      std::string& buffer = buffers.emplace_back();
      if (const size_t view = part.find(kView); view != std::string_view::npos) {
        buffer = nameAt(part, view + kView.size());
      } else if (const size_t data = part.find(".data_ptr()"); data != std::string_view::npos) {
        size_t name = data;
        while (name > 0 && isNamePart(part[name - 1])) --name;
        buffer = part.substr(name, data - name);
      } else if (part = trimmed(part); !part.empty() && nameAt(part, 0) == part &&
                                       std::isdigit(static_cast<unsigned char>(part[0])) == 0) {
        buffer = part;
      }
    }
    if (closes && --depth < 0) break;
  }
  return buffers;
}

std::string_view GeneratedSource::definition(const std::string& kernel) const {
  const auto found = definitions_.find(kernel);
  if (found == definitions_.end()) return {};
  return std::string_view(text_).substr(found->second.first, found->second.second);
}

}  // namespace ulpscope::native
