#include "gui/models/operand_match.h"

#include <algorithm>

namespace ulpscope::gui {
namespace {

struct Item {
  int64_t op;
  int64_t operand;
  bool taken = false;
};

bool isWritten(const Operand& operand) {
  return operand.role == Role::output || operand.role == Role::after;
}

bool writtenInside(const Side& side, std::span<const uint32_t> members, const Operand& operand) {
  return std::any_of(members.begin(), members.end(), [&](uint32_t member) {
    return side.ops.ops[member].id == operand.writer;
  });
}

std::vector<Item> itemsOf(const Side& side, std::span<const uint32_t> members, bool written) {
  std::vector<Item> items;
  for (uint32_t index : members) {
    const Op& op = side.ops.ops[index];
    for (uint32_t i = 0; i < op.operandCount; ++i) {
      const Operand& operand = side.ops.operands[op.firstOperand + i];
      if (isWritten(operand) != written || (operand.flags & kScratch)) continue;
      // What a group hands on inside itself is no input of the group.
      if (!written && members.size() > 1 && writtenInside(side, members, operand)) continue;
      items.push_back({index, int64_t(op.firstOperand) + i});
    }
  }
  return items;
}

class Matcher {
 public:
  Matcher(const Document& document, const Pair& pair, bool written)
      : document_(document), written_(written),
        a_(itemsOf(document.result.a, document.result.opsA(pair), written)),
        b_(itemsOf(document.result.b, document.result.opsB(pair), written)) {}

  template <class Rule>
  void match(Rule rule) {
    for (Item& a : a_) {
      if (a.taken) continue;
      for (Item& b : b_) {
        if (b.taken || !rule(a, b)) continue;
        a.taken = b.taken = true;
        found_.push_back({a.op, b.op, a.operand, b.operand, written_,
                          sameValue(document_, operandA(a), operandB(b))});
        break;
      }
    }
  }

  void finish(std::vector<OperandMatch>& out) {
    for (const Item& a : a_)
      if (!a.taken) found_.push_back({a.op, -1, a.operand, -1, written_, Equality::unknown});
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& x, const auto& y) { return x.a < y.a; });
    for (const Item& b : b_)
      if (!b.taken) found_.push_back({-1, b.op, -1, b.operand, written_, Equality::unknown});
    out.insert(out.end(), found_.begin(), found_.end());
  }

  const Operand& operandA(const Item& item) const {
    return document_.result.a.ops.operands[size_t(item.operand)];
  }
  const Operand& operandB(const Item& item) const {
    return document_.result.b.ops.operands[size_t(item.operand)];
  }

 private:
  const Document& document_;
  bool written_;
  std::vector<Item> a_;
  std::vector<Item> b_;
  std::vector<OperandMatch> found_;
};

bool sameCall(const Document& document, const Pair& pair) {
  if (pair.countA != 1 || pair.countB != 1) return false;
  const Side& a = document.result.a;
  const Side& b = document.result.b;
  return a.reader->schema(a.ops.ops[document.result.opsA(pair)[0]].schema).qualified() ==
         b.reader->schema(b.ops.ops[document.result.opsB(pair)[0]].schema).qualified();
}

/// Does the kernel on one side say that its parameter holds the value of this op of the other?
bool tied(const Side& kernelSide, const Item& kernel, const Operand& parameter, const Side& opSide,
          const Item& op, const Operand& value) {
  const Op& call = kernelSide.ops.ops[size_t(kernel.op)];
  if (!call.provenance) return false;
  const Provenance& origin = kernelSide.reader->provenance(call.provenance);
  const Schema& schema = opSide.reader->schema(opSide.ops.ops[size_t(op.op)].schema);
  for (const OutputTie& tie : origin.ties) {
    if (tie.arg != parameter.arg || tie.source < 0) continue;
    if (size_t(tie.source) >= origin.sources.size()) continue;
    const bool sameOutput = value.role != Role::output || value.arg == tie.output;
    return sameOutput && origin.sources[size_t(tie.source)].op == schema.name;
  }
  return false;
}

}  // namespace

Equality sameValue(const Document& document, const Operand& a, const Operand& b) {
  if (!a.fingerprint || !b.fingerprint) return Equality::unknown;
  const bool equal = document.result.a.reader->digest(a.fingerprint) ==
                     document.result.b.reader->digest(b.fingerprint);
  return equal ? Equality::equal : Equality::unequal;
}

std::vector<OperandMatch> matchOperands(const Document& document, const Pair& pair) {
  std::vector<OperandMatch> out;
  const Side& sideA = document.result.a;
  const Side& sideB = document.result.b;
  const bool both = pair.countA != 0 && pair.countB != 0;
  const bool byPosition = both && sameCall(document, pair);
  for (bool written : {false, true}) {
    Matcher matcher(document, pair, written);
    if (byPosition) {
      matcher.match([&](const Item& a, const Item& b) {
        const Operand& x = matcher.operandA(a);
        const Operand& y = matcher.operandB(b);
        return x.role == y.role && x.arg == y.arg && x.item == y.item;
      });
    } else if (both) {
      matcher.match([&](const Item& a, const Item& b) {
        return a.operand == pair.operandA && b.operand == pair.operandB;
      });
      if (written)
        matcher.match([&](const Item& a, const Item& b) {
          return tied(sideB, b, matcher.operandB(b), sideA, a, matcher.operandA(a)) ||
                 tied(sideA, a, matcher.operandA(a), sideB, b, matcher.operandB(b));
        });
      matcher.match([&](const Item& a, const Item& b) {
        return sameValue(document, matcher.operandA(a), matcher.operandB(b)) == Equality::equal;
      });
      if (pair.countA == 1 && pair.countB == 1)
        matcher.match([&](const Item& a, const Item& b) {
          return sideA.reader->type(matcher.operandA(a).type).sizes ==
                 sideB.reader->type(matcher.operandB(b).type).sizes;
        });
    }
    matcher.finish(out);
  }
  return out;
}

}  // namespace ulpscope::gui
