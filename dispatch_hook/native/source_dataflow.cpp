#include "dispatch_hook/native/source_dataflow.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace ulpscope::native {

namespace {

bool isNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Where a name stands as a word, from `from` on.
size_t findName(std::string_view text, std::string_view name, size_t from = 0) {
  for (size_t at = text.find(name, from); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !isNamePart(text[at - 1])) && (end == text.size() || !isNamePart(text[end]))) {
      return at;
    }
  }
  return std::string_view::npos;
}

/// "auto buf9 = ..." -> "buf9".
std::string_view declared(std::string_view line) {
  constexpr std::string_view kAuto = "auto ";
  if (!line.starts_with(kAuto)) return {};
  const size_t end = line.find(" = ");
  return end == std::string_view::npos ? std::string_view()
                                       : line.substr(kAuto.size(), end - kAuto.size());
}

bool isOverwritten(const GeneratedSource& source, const WrittenCall& call, size_t argument,
                   const Definition& definition) {
  const auto kernel = source.kernels().find(call.function);
  if (kernel == source.kernels().end()) {
    return argument == 0 && call.function.ends_with("_out");  // out= comes first
  }
  if (argument >= kernel->second.parameters.size()) return false;
  const KernelParameter& parameter = kernel->second.parameters[argument];
  if (parameter.isConst()) return false;
  if (!parameter.name.starts_with("in_out_ptr")) return true;
  return storesFirst(definition(call.function), parameter.name);
}

/// Operators that give another view or a copy of what they get.
constexpr std::array<std::string_view, 24> kMoves{
    "alias",   "as_strided", "clone",   "detach",  "diagonal",        "expand",
    "flatten", "permute",    "reshape", "select",  "slice",           "split",
    "split_with_sizes", "squeeze", "t", "transpose", "unbind",        "unflatten",
    "unfold",  "unsafe_view", "unsqueeze", "view", "_unsafe_view",    "contiguous"};

bool moves(const SourceOp& source) {
  return std::ranges::find(kMoves, std::string_view(source.op).substr(6)) != kMoves.end();
}

/// Puts sources in the order in which a comment lists their operators; false where none lists all.
/// Extern kernels have such comments, which go back over the kernels before them.
bool orderByComments(const GeneratedSource& source, const WrittenCall& call, SiteRecord& site) {
  constexpr std::string_view kListed = "Original ATen: [";
  for (size_t i = call.line; i < source.lines().size(); ++i) {
    const std::string_view line = source.lines()[i];
    const size_t begin = line.starts_with("//") ? line.find(kListed) : std::string_view::npos;
    if (begin == std::string_view::npos) continue;
    const std::string_view listed = line.substr(begin);
    std::vector<std::pair<size_t, SourceOp>> placed;
    for (const SourceOp& op : site.sources) {
      const size_t at = findName(listed, "aten." + op.op.substr(6));
      if (at == std::string_view::npos) break;
      placed.emplace_back(at, op);
    }
    if (placed.size() != site.sources.size()) continue;
    std::ranges::stable_sort(placed, {}, &std::pair<size_t, SourceOp>::first);
    for (size_t n = 0; n < placed.size(); ++n) {
      site.sources[n] = placed[n].second;
      site.sources[n].order = int32_t(n);
    }
    return true;
  }
  return false;
}

}  // namespace

bool storesFirst(std::string_view definition, std::string_view parameter) {
  const size_t body = definition.find('{');
  if (body == std::string_view::npos) return false;
  std::set<std::string, std::less<>> names{std::string(parameter)};
  size_t at = body;
  while (at < definition.size()) {
    const size_t end = std::min(definition.find('\n', at), definition.size());
    const std::string_view line = definition.substr(at, end - at);
    at = end + 1;
    const size_t text = line.find_first_not_of(" \t");
    if (text == std::string_view::npos) continue;
    const std::string_view statement = line.substr(text);
    for (const std::string& name : names) {
      const size_t found = findName(statement, name);
      if (found == std::string_view::npos) continue;
      // auto out_ptr0 = in_out_ptr0;
      if (const std::string_view alias = declared(statement);
          !alias.empty() && statement.ends_with("= " + name + ";")) {
        names.emplace(alias);
        break;
      }
      if (found == 0) return true;  // in_out_ptr0[...] = ...
      const size_t store = statement.find(".store(");
      return store != std::string_view::npos && store < found;  // tmp3.store(in_out_ptr0 + ...)
    }
  }
  return false;
}

bool isReadLater(const GeneratedSource& source, const WrittenCall& call, std::string_view buffer,
                 const Definition& definition) {
  std::set<std::string, std::less<>> names{std::string(buffer)};  // of the same memory
  auto next = std::ranges::find_if(source.calls(),
                                   [&](const WrittenCall& each) { return each.line > call.line; });
  for (size_t i = call.line + 1; i < source.lines().size() && !names.empty(); ++i) {
    const std::string_view line = source.lines()[i];
    if (line.starts_with("}")) return false;  // of the function
    for (; next != source.calls().end() && next->line == i; ++next) {
      for (size_t n = 0; n < next->buffers.size(); ++n) {
        const auto name = names.find(next->buffers[n]);
        if (name == names.end()) continue;
        if (!isOverwritten(source, *next, n, definition)) return true;
        names.clear();  // whatever it is called: the memory has other content now
        break;
      }
    }
    if (line.starts_with("//") || line.find("assert_size_stride") != std::string_view::npos) {
      continue;
    }
    const bool isCall = std::ranges::any_of(
        source.calls(), [&](const WrittenCall& each) { return each.line == i; });
    if (isCall) continue;
    for (const std::string& name : std::vector<std::string>(names.begin(), names.end())) {
      if (findName(line, name) == std::string_view::npos) continue;
      const std::string_view also = declared(line);
      if (!also.empty() && also != name) names.emplace(also);
      if (line.find(name + ".reset()") != std::string_view::npos ||
          line.find("std::move(" + name + ")") != std::string_view::npos) {
        names.erase(name);
      } else if (also.empty()) {
        return true;  // output_handles[0] = buf16.release(), and whatever else
      }
    }
  }
  return false;
}

void readSite(const GeneratedSource& source, const WrittenCall& call,
              const KernelSignature& signature, const Definition& definition, SiteRecord& site) {
  std::vector<std::string> results;
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const KernelParameter& parameter = signature.parameters[i];
    if (parameter.kind != KernelParameter::Kind::pointer || parameter.isConst()) continue;
    if (parameter.name.starts_with("in_out_ptr") && storesFirst(definition(call.function), parameter.name)) {
      site.uninitialised.push_back(parameter.name);
    }
    if (i < call.buffers.size() && !call.buffers[i].empty() &&
        !isReadLater(source, call, call.buffers[i], definition)) {
      OutputTie tie;
      tie.how = "nothing reads it";
      site.ties.emplace_back(parameter.name, tie);
    } else {
      results.push_back(parameter.name);
    }
  }
  const auto computed = [&] {
    return std::ranges::count_if(site.sources, [](const SourceOp& op) { return !moves(op); });
  };
  // Names list operators by the alphabet.
  const bool isNamed = std::ranges::any_of(site.sources, [](const SourceOp& op) {
    return op.stack.empty();
  });
  const bool inOrder = !isNamed || orderByComments(source, call, site) || computed() == 1;
  if (results.size() != 1 || !inOrder) return;
  const auto last = std::ranges::find_if_not(site.sources.rbegin(), site.sources.rend(), moves);
  if (last == site.sources.rend()) return;
  OutputTie tie;
  tie.source = int32_t(site.sources.rend() - last) - 1;
  tie.confidence = 0.6f;
  tie.how = "the last op, by the only result that is read";
  site.ties.emplace_back(results[0], tie);
}

}  // namespace ulpscope::native
