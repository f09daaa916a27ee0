#include "diff/render/pair_facts.h"

#include <fmt/format.h>

#include "diff/context.h"
#include "diff/render/format.h"

namespace ulpscope {
namespace {

PairSide sideOf(const Side& side, std::span<const uint32_t> members) {
  PairSide found;
  if (members.empty() || members.front() >= side.ops.ops.size()) return found;
  const Op& op = side.ops.ops[members.front()];
  found.id = op.id;
  found.more = uint32_t(members.size() - 1);
  if (!side.reader) return found;
  found.op = side.reader->schema(op.schema).name;
  if (op.kind == OpKind::kernel) {
    if (const size_t colons = found.op.find("::"); colons != std::string::npos) {
      found.op.erase(0, colons + 2);
    }
  }
  return found;
}

/// The operand that decided the pair, else the first that its first op wrote, else its first.
const Operand* shownOperand(const Side& side, std::span<const uint32_t> members, int32_t decided) {
  if (decided >= 0 && size_t(decided) < side.ops.operands.size()) {
    return &side.ops.operands[size_t(decided)];
  }
  if (members.empty() || members.front() >= side.ops.ops.size()) return nullptr;
  const std::span<const Operand> operands = side.ops.of(side.ops.ops[members.front()]);
  for (const Operand& operand : operands) {
    if (operand.role == Role::output || operand.role == Role::after) return &operand;
  }
  return operands.empty() ? nullptr : &operands.front();
}

}  // namespace

PairFacts PairFactsReader::read(size_t index) const {
  const Pair& pair = result_.pairs[index];
  PairFacts facts;
  facts.a = sideOf(result_.a, result_.opsA(pair));
  facts.b = sideOf(result_.b, result_.opsB(pair));

  const bool ofA = pair.countA > 0;
  const Side& side = ofA ? result_.a : result_.b;
  const std::span<const uint32_t> members = ofA ? result_.opsA(pair) : result_.opsB(pair);
  if (members.empty() || members.front() >= side.ops.ops.size()) return facts;
  const Op& op = side.ops.ops[members.front()];
  facts.step = op.step;
  facts.phase = op.phase;
  if (!side.reader) return facts;

  const SideIndex* places = nullptr;
  if (result_.context) {
    places = ofA ? result_.context->indexA.get() : result_.context->indexB.get();
  }
  // With the index, a backward op has the place of its forward op.
  const auto [module, moduleClass] =
      places != nullptr ? places->module(members.front()) : side.reader->module(op);
  facts.module = module.empty() ? moduleClass : module;
  const Stack& stack =
      places != nullptr ? places->stack(members.front()) : side.reader->stack(op.stack);
  if (const Frame* frame = programFrame(stack)) {
    const size_t slash = frame->file.rfind('/');
    facts.line = fmt::format("{}:{}", frame->file.substr(slash == std::string::npos ? 0 : slash + 1),
                             frame->line);
  }
  if (const Operand* operand = shownOperand(side, members, ofA ? pair.operandA : pair.operandB)) {
    const TensorType& type = side.reader->type(operand->type);
    facts.operand = tensorText(type.dtype, type.sizes);
  }
  return facts;
}

}  // namespace ulpscope
