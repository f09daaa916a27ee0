#include "diff/mapping.h"

#include <filesystem>
#include <toml++/toml.h>

#include "store/error.h"

namespace ulpscope {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw TraceError(TraceError::Code::corrupt,
                   path + ": " + why + "; docs/alignment.md describes the mapping file");
}

std::vector<int64_t> ids(const std::string& path, const toml::table& entry, const char* side) {
  std::vector<int64_t> result;
  const toml::node* node = entry.get(side);
  if (node == nullptr) return result;
  if (const toml::array* list = node->as_array()) {
    for (const toml::node& item : *list) {
      const std::optional<int64_t> id = item.value<int64_t>();
      if (!id || *id <= 0) fail(path, std::string("'") + side + "' of [[op]] holds op ids");
      result.push_back(*id);
    }
  } else if (const std::optional<int64_t> id = node->value<int64_t>(); id && *id > 0) {
    result.push_back(*id);
  } else {
    fail(path, std::string("'") + side + "' of [[op]] is an op id or a list of them");
  }
  return result;
}

void readEntries(const std::string& path, const toml::table& file, const char* key,
                 std::vector<std::pair<std::string, std::string>>& out) {
  const toml::node* node = file.get(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) fail(path, std::string("'") + key + "' must be written [[" + key + "]]");
  for (const toml::node& item : *list) {
    const toml::table* entry = item.as_table();
    const auto a = entry ? (*entry)["a"].value<std::string>() : std::nullopt;
    const auto b = entry ? (*entry)["b"].value<std::string>() : std::nullopt;
    if (!a || !b) fail(path, std::string("each [[") + key + "]] needs text for a and for b");
    out.emplace_back(*b, *a);
  }
}

}  // namespace

std::string Mapping::modulePath(const std::string& pathOfB) const {
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& rule : modules) {
    const std::string& prefix = rule.first;
    const bool matches = prefix.empty() || pathOfB == prefix ||
                         (pathOfB.starts_with(prefix) && pathOfB[prefix.size()] == '.');
    if (matches && (best == nullptr || prefix.size() > best->first.size())) best = &rule;
  }
  if (best == nullptr) return pathOfB;
  std::string rest = pathOfB.substr(best->first.size());
  if (rest.starts_with('.')) rest.erase(0, 1);
  if (best->second.empty()) return rest;
  return rest.empty() ? best->second : best->second + "." + rest;
}

const std::string& Mapping::opName(const std::string& nameOfB) const {
  for (const auto& [b, a] : names) {
    if (b == nameOfB) return a;
  }
  return nameOfB;
}

Mapping readMapping(const std::string& path) {
  Mapping mapping;
  if (path.empty()) return mapping;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw TraceError(TraceError::Code::missing, path + ": no such mapping file; check the path");
  }
  toml::table file;
  try {
    file = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    fail(path, "line " + std::to_string(error.source().begin.line) + ": " +
                   std::string(error.description()));
  }
  for (const auto& [key, value] : file) {
    if (key != "module" && key != "name" && key != "op") {
      fail(path, "'" + std::string(key.str()) + "' is not one of module, name, op");
    }
  }
  readEntries(path, file, "module", mapping.modules);
  readEntries(path, file, "name", mapping.names);
  if (const toml::node* node = file.get("op")) {
    const toml::array* list = node->as_array();
    if (list == nullptr) fail(path, "'op' must be written [[op]]");
    for (const toml::node& item : *list) {
      const toml::table* entry = item.as_table();
      if (entry == nullptr) fail(path, "each [[op]] needs ids for a and for b");
      Mapping::Ops ops{ids(path, *entry, "a"), ids(path, *entry, "b")};
      if (ops.a.empty() && ops.b.empty()) fail(path, "an [[op]] without ids");
      mapping.ops.push_back(std::move(ops));
    }
  }
  return mapping;
}

}  // namespace ulpscope
