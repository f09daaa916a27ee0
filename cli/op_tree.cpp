#include "cli/op_tree.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "diff/result.h"

namespace ulpscope {
namespace {

constexpr size_t kTensorsShown = 6;

std::string headingText(const Region& region) {
  const std::string detail = region.detail.empty() ? "" : fmt::format(" ({})", region.detail);
  switch (region.kind) {
    case RegionKind::module:
      return (region.name.empty() ? "root module" : region.name) + detail;
    case RegionKind::compiled: return fmt::format("compiled {}{}", region.name, detail);
    case RegionKind::autograd: return region.name + detail;
    case RegionKind::optimizer: return region.name + detail;
    case RegionKind::scope: return region.name + detail;
    case RegionKind::higherOrder: return region.name + detail;
  }
  return region.name + detail;
}

std::string tensors(const Reader& trace, std::span<const Operand> operands,
                    std::initializer_list<Role> roles) {
  std::string text;
  size_t count = 0;
  for (const Operand& operand : operands) {
    if (std::find(roles.begin(), roles.end(), operand.role) == roles.end()) continue;
    if (++count > kTensorsShown) continue;
    const TensorType& type = trace.type(operand.type);
    text += (text.empty() ? "" : ", ") + tensorText(type.dtype, type.sizes);
  }
  if (count > kTensorsShown) text += fmt::format(", {} more", count - kTensorsShown);
  return text;
}

std::string valueText(const Reader& trace, const Operand& operand) {
  if (!operand.fingerprint) {
    return operand.skip == SkipReason::none ? "no fingerprint"
                                            : fmt::format("skipped: {}", name(operand.skip));
  }
  const Fingerprint print = trace.fingerprint(operand.fingerprint);
  std::string text = toHex(print.digest).substr(0, 12);
  if (print.level != Level::digest) {
    const Statistics& s = print.statistics;
    text += fmt::format("  min {} max {} l2 {}", magnitude(s.min), magnitude(s.max),
                        magnitude(std::sqrt(s.sumSquares)));
    if (s.nan != 0) text += fmt::format(" nan {}", grouped(int64_t(s.nan)));
    const uint64_t infinities = s.positiveInfinity + s.negativeInfinity;
    if (infinities != 0) text += fmt::format(" inf {}", grouped(int64_t(infinities)));
  }
  if (trace.captured(operand.fingerprint)) text += "  captured";
  if (operand.closure == Closure::broken) text += "  written behind the recorder's back";
  return text;
}

}  // namespace

std::string_view roleText(Role role) {
  switch (role) {
    case Role::input: return "input";
    case Role::output: return "output";
    case Role::before: return "before";
    case Role::after: return "after";
  }
  return "?";
}

std::string operandName(const Schema& schema, const Operand& operand) {
  const auto& names = operand.role == Role::output ? schema.returns : schema.arguments;
  std::string text = operand.arg >= 0 && size_t(operand.arg) < names.size()
                         ? names[size_t(operand.arg)]
                         : std::string();
  if (text.empty()) text = std::to_string(operand.arg);
  if (operand.item >= 0) text += fmt::format("[{}]", operand.item);
  return text;
}

OpTree::OpTree(const Reader& trace, std::ostream& out, const Paint& paint, bool operands)
    : trace_(trace), out_(out), paint_(paint), operands_(operands) {}

std::vector<OpTree::Heading> OpTree::pathOf(const Op& op) const {
  std::vector<Heading> path;
  // Keys of steps and phases are negative, so that they can't be a region's.
  path.push_back({-1 - int64_t(op.step) * 8, fmt::format("step {}", op.step)});
  if (op.phase != Phase::other) {
    path.push_back({-2 - int64_t(op.phase), std::string(name(op.phase))});
  }
  std::vector<Heading> regions;
  RegionId id = op.region;
  for (int guard = 0; id && guard < 1000; ++guard) {
    const Region& region = trace_.region(id);
    if (!region.id) break;
    regions.push_back({region.id.value, headingText(region)});
    id = region.parent;
  }
  if (op.phase == Phase::backward) {
    // An autograd node says little by itself: the module that it differentiates says more.
    const auto [module, type] = trace_.module(op);
    if (!module.empty() && !regions.empty()) regions.front().text += " of " + module;
  }
  path.insert(path.end(), regions.rbegin(), regions.rend());
  return path;
}

int OpTree::depthOf(const Op& op) {
  const auto parent = std::find(enclosing_.begin(), enclosing_.end(), op.parent);
  enclosing_.erase(op.parent && parent != enclosing_.end() ? parent + 1 : enclosing_.begin(),
                   enclosing_.end());
  const int depth = int(enclosing_.size());
  enclosing_.push_back(op.id);
  return depth;
}

void OpTree::add(const OpTable& table, const Op& op) {
  const std::vector<Heading> path = pathOf(op);
  size_t same = 0;
  while (same < path.size() && same < path_.size() && path_[same] == path[same].key) ++same;
  for (size_t level = same; level < path.size(); ++level) {
    fmt::print(out_, "{}{}\n", std::string(level * 2, ' '), paint_.bold(path[level].text));
  }
  path_.clear();
  for (const Heading& heading : path) path_.push_back(heading.key);

  const std::string indent((path.size() + size_t(depthOf(op))) * 2, ' ');
  const Schema& schema = trace_.schema(op.schema);
  const auto operands = table.of(op);
  std::string line = fmt::format("{}#{} {}({})", indent, op.id.value,
                                 paint_.name(schema.qualified()),
                                 tensors(trace_, operands, {Role::input, Role::before}));
  const std::string results = tensors(trace_, operands, {Role::output});
  const std::string written = tensors(trace_, operands, {Role::after});
  if (!results.empty()) line += " -> " + results;
  if (!written.empty() && results.empty()) line += " writes " + written;
  if (const Frame* frame = programFrame(trace_.stack(op.stack))) {
    line += "  " + paint_.dim(frameText(*frame));
  }
  if (op.raised) line += "  " + paint_.bad("raised");
  out_ << line << '\n';
  if (operands_) printOperands(table, op, indent + "    ");
}

void OpTree::printOperands(const OpTable& table, const Op& op, const std::string& indent) {
  const Schema& schema = trace_.schema(op.schema);
  for (const Operand& operand : table.of(op)) {
    const TensorType& type = trace_.type(operand.type);
    fmt::print(out_, "{}{:<6} {}: {}  {}\n", indent, roleText(operand.role),
               operandName(schema, operand), tensorText(type.dtype, type.sizes),
               paint_.dim(valueText(trace_, operand)));
  }
  for (const Scalar& scalar : trace_.scalars(op.scalars)) {
    const bool named = scalar.arg >= 0 && size_t(scalar.arg) < schema.arguments.size();
    fmt::print(out_, "{}scalar {}: {}\n", indent,
               named ? schema.arguments[size_t(scalar.arg)] : std::to_string(scalar.arg), scalar.text);
  }
}

}  // namespace ulpscope
