#include "cli/operand_address.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "cli/op_tree.h"
#include "cli/verb.h"
#include "diff/render/format.h"

namespace ulpscope {
namespace {

constexpr Role kRoles[] = {Role::input, Role::output, Role::before, Role::after};

template <class Number>
bool takeNumber(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(size_t(end - text.data()));
  return true;
}

bool takeRole(std::string_view& text, OperandAddress& address) {
  for (const Role role : kRoles) {
    if (!text.starts_with(roleText(role))) continue;
    address.role = role;
    text.remove_prefix(roleText(role).size());
    return true;
  }
  return false;
}

bool parseInto(std::string_view text, OperandAddress& address) {
  if (text.starts_with('#')) text.remove_prefix(1);
  if (!takeNumber(text, address.op.value) || address.op.value == 0) return false;
  if (text.empty()) return true;
  if (!text.starts_with(':')) return false;
  text.remove_prefix(1);
  if (!takeRole(text, address)) return false;
  if (text.empty()) return true;
  if (!takeNumber(text, address.arg.emplace())) return false;
  if (text.empty()) return true;
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return takeNumber(text, address.item.emplace()) && text.empty();
}

bool written(Role role) { return role == Role::output || role == Role::after; }

int64_t elements(const TensorType& type) {
  int64_t count = 1;
  for (const int64_t size : type.sizes) count *= size;
  return count;
}

}  // namespace

OperandAddress OperandAddress::parse(const std::string& text) {
  OperandAddress address;
  if (!parseInto(text, address)) {
    throw CommandError(fmt::format("'{}' is no operand; give an op's number, or a role, argument and "
                                   "item with it: 22, 22:after, 22:after1, 22:input0.3",
                                   text));
  }
  return address;
}

bool OperandAddress::matches(const Operand& operand) const {
  return (!role || operand.role == *role) && (!arg || operand.arg == *arg) &&
         (!item || operand.item == *item);
}

std::string addressOf(const Op& op, const Operand& operand) {
  std::string text = fmt::format("{}:{}{}", op.id.value, roleText(operand.role), operand.arg);
  if (operand.item >= 0) text += fmt::format(".{}", operand.item);
  return text;
}

CapturedOperand readCaptured(const Reader& trace, const OperandAddress& address) {
  OpTable table;
  trace.readOps(address.op, 1, table);
  if (table.ops.empty() || table.ops[0].id != address.op) {
    throw CommandError(fmt::format("{} has no op #{}; `ulpscope show {}` lists them", trace.path(),
                                   address.op.value, shellQuoted(trace.path())));
  }
  const Op& op = table.ops[0];
  const Schema& schema = trace.schema(op.schema);
  const Operand* best = nullptr;
  const auto better = [&](const Operand& x, const Operand& y) {
    if (written(x.role) != written(y.role)) return written(x.role);
    return elements(trace.type(x.type)) > elements(trace.type(y.type));
  };
  bool any = false;
  for (const Operand& operand : table.of(op)) {
    if (!address.matches(operand)) continue;
    any = true;
    if (!trace.captured(operand.fingerprint)) continue;
    if (best == nullptr || better(operand, *best)) best = &operand;
  }
  if (!any) {
    throw CommandError(fmt::format("op #{} of {} has no such operand; `ulpscope show {} --operands` "
                                   "lists them",
                                   op.id.value, trace.path(), shellQuoted(trace.path())));
  }
  std::optional<std::vector<std::byte>> values;
  if (best != nullptr) values = trace.values(best->fingerprint);
  if (!values) {
    throw CommandError(fmt::format(
        "{} has no values of {} #{}; record the run again with --capture={}", trace.path(),
        schema.name, op.id.value, shellQuoted(schema.name)));
  }
  return {trace.path(),       op, *best, schema.qualified(), operandName(schema, *best),
          trace.type(best->type), std::move(*values)};
}

}  // namespace ulpscope
