#include "dispatch_hook/native/site_record.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace ulpscope::native {

namespace {

using nlohmann::json;

SourceOp sourceFrom(const json& fields) {
  SourceOp source;
  source.node = fields.at("node");
  source.op = fields.at("op");
  source.overload = fields.at("overload");
  source.module = fields.at("module");
  source.moduleClass = fields.at("module_class");
  source.backward = fields.at("backward");
  source.order = fields.at("order");
  for (const json& frame : fields.at("stack")) {
    source.stack.push_back({frame.at(0), frame.at(1), frame.at(2)});
  }
  return source;
}

SiteRecord siteFrom(const json& fields) {
  SiteRecord site;
  for (const json& source : fields.at("sources")) site.sources.push_back(sourceFrom(source));
  for (const auto& [parameter, ties] : fields.at("ties").items()) {
    for (const json& each : ties) {
      OutputTie tie;
      tie.arg = -1;
      tie.source = each.at("source");
      tie.output = each.at("output");
      tie.reshaped = each.at("transform") == "reshaped";
      tie.confidence = each.at("confidence");
      tie.how = each.at("how");
      site.ties.emplace_back(parameter, tie);
    }
  }
  site.uninitialised = fields.at("uninitialised");
  site.unwritten = fields.at("unwritten");
  return site;
}

/// Names of aten's operators without namespace and overload.
const std::unordered_set<std::string>& operatorNames() {
  static const auto* const names = [] {
    auto* found = new std::unordered_set<std::string>;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      if (name.name.starts_with("aten::")) found->insert(name.name.substr(6));
    }
    return found;
  }();
  return *names;
}

/// Names say nothing of overloads: the plain one, or the one on tensors.
std::string likelyOverload(const std::string& op) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  if (dispatcher.findSchema({op, ""})) return "default";
  return dispatcher.findSchema({op, "Tensor"}) ? "Tensor" : "";
}

/// Splits "add_native_layer_norm" into operators' names, the longest first. False where a part of
/// it is none.
bool split(std::string_view text, std::vector<std::string>& names) {
  if (text.empty()) return true;
  for (size_t end = text.size();; --end) {
    if (end != text.size()) end = text.rfind('_', end);
    if (end == std::string_view::npos || end == 0) return false;
    const std::string name(text.substr(0, end));
    if (!operatorNames().contains(name)) continue;
    names.push_back(name);
    if (split(end == text.size() ? std::string_view() : text.substr(end + 1), names)) return true;
    names.pop_back();
  }
}

/// The frames of one trace as text, innermost first.
Stack stackFrom(std::string_view text) {
  Stack stack;
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  for (size_t at = text.find(kFile); at != std::string_view::npos; at = text.find(kFile, at + 1)) {
    const size_t file = at + kFile.size();
    const size_t line = text.find(kLine, file);
    const size_t in = line == std::string_view::npos ? line : text.find(kIn, line);
    if (in == std::string_view::npos) break;
    const size_t end = std::min(text.find('\n', in), text.size());
    Frame frame;
    frame.file = text.substr(file, line - file);
    frame.line = std::atoi(std::string(text.substr(line + kLine.size(), 12)).c_str());
    frame.function = text.substr(in + kIn.size(), end - in - kIn.size());
    stack.insert(stack.begin(), frame);
  }
  return stack;
}

/// "layer_norm_1" -> "layer_norm".
std::string_view withoutNumber(std::string_view node) {
  size_t end = node.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(node[end - 1])) != 0) --end;
  return end < node.size() && end > 1 && node[end - 1] == '_' ? node.substr(0, end - 1) : node;
}

/// Is it likely that a node of this name is this operator? Linear layers are called by their own name.
bool mayBe(std::string_view node, std::string_view op) {
  if (node == "linear") return op == "addmm" || op == "mm" || op == "t";
  return op.find(node) != std::string_view::npos || node.find(op) != std::string_view::npos;
}

}  // namespace

SiteRecords readSiteRecords(std::string_view text, std::string& why) {
  SiteRecords records;
  try {
    const json all = json::parse(text);
    if (all.at("format") != kSiteRecordFormat) {
      why = "it was compiled beside a newer version of ulpscope";
      return {};
    }
    for (const auto& [key, site] : all.at("sites").items()) records[key] = siteFrom(site);
  } catch (const std::exception& error) {
    why = std::string("its record cannot be read: ") + error.what();
    return {};
  }
  return records;
}

SiteRecords readKernelInformation(std::string_view text) {
  SiteRecords records;
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) return records;
  for (const auto& [key, kernel] : all.items()) {
    try {
      SiteRecord site = siteFromName(key.substr(0, key.rfind(':')));
      const std::vector<std::string> nodes = kernel.at("pre_grad_nodes");
      const std::vector<std::string> traces = kernel.at("stack_traces");
      // Traces that several nodes share are listed once: then nobody knows which is whose.
      std::vector<bool> taken(nodes.size());
      for (SourceOp& source : site.sources) {
        source.order = 0;
        for (size_t i = 0; i < nodes.size(); ++i) {
          if (taken[i] || !mayBe(withoutNumber(nodes[i]), source.op.substr(6))) continue;
          source.node = nodes[i];
          if (nodes.size() == traces.size()) source.stack = stackFrom(traces[i]);
          source.order = int32_t(nodes.size() - i);  // they are listed from the result backwards
          taken[i] = true;
          break;
        }
        if (source.stack.empty() && traces.size() == 1) source.stack = stackFrom(traces[0]);
      }
      std::ranges::stable_sort(site.sources, {}, &SourceOp::order);
      records[key] = std::move(site);
    } catch (const json::exception&) {
      continue;
    }
  }
  return records;
}

SiteRecord siteFromName(std::string_view kernel) {
  SiteRecord site;
  constexpr std::string_view kFused = "cpp_fused_";
  if (!kernel.starts_with(kFused)) return site;
  std::string_view names = kernel.substr(kFused.size());
  const size_t number = names.rfind('_');
  if (number == std::string_view::npos) return site;
  names = names.substr(0, number);
  std::vector<std::string> ops;
  if (!split(names, ops)) return site;
  for (const std::string& op : ops) {
    SourceOp& source = site.sources.emplace_back();
    source.op = "aten::" + op;
    source.overload = likelyOverload(source.op);
    source.backward = op.ends_with("_backward");
    source.order = int32_t(site.sources.size()) - 1;
  }
  return site;
}

}  // namespace ulpscope::native
