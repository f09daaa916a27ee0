#include "diff/account.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "diff/context.h"
#include "diff/diff.h"
#include "diff/scalar_difference.h"

namespace ulpscope {
namespace {

constexpr size_t kLongestPath = 64;

std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2g", value);
  return buffer;
}

class Accountant {
 public:
  Accountant(const DiffResult& result, const DiffContext& context, int32_t index)
      : result_(result), context_(context), index_(index), pair_(result.pairs[size_t(index)]) {}

  PairAccount run() {
    pairing();
    if (pair_.countA > 0 && pair_.countB > 0) operands();
    reasons();
    path();
    return std::move(account_);
  }

 private:
  const SideIndex& a() const { return *context_.indexA; }
  const SideIndex& b() const { return *context_.indexB; }

  void pairing() {
    std::string& s = account_.pairing;
    switch (pair_.method) {
      case Method::merkle:
        s = "All ops of this step agree in structure, one after the other, so each is paired with the "
            "one in its place.";
        break;
      case Method::anchor:
        s = "Between its neighbours, both runs have one op with this operator, types, scalars, module "
            "and line (or what of these makes it unique).";
        break;
      case Method::edit:
        s = "It is what the cheapest edit of A's ops into B's pairs here: not all that it shows is the "
            "same or unique.";
        break;
      case Method::producers:
        s = "It lost its place in the order, and was found again by what made its inputs, by what reads "
            "its results, or as the same op a few places away.";
        break;
      case Method::provenance:
        s = "The compiler's provenance says that the kernel stands for these ops.";
        break;
      case Method::mapping: s = "The mapping file pairs it."; break;
      case Method::coarse:
        s = "This stretch was too large and too different; ops were paired by their order alone.";
        break;
      case Method::none:
        s = std::string("No op of ") + (pair_.countA > 0 ? "B" : "A") +
            " that is still free has its operator in this place.";
        break;
    }
  }

  void operands() {
    std::vector<OperandMatch> matches;
    context_.matcher->match(index_, matches);
    int unknown = 0, weak = 0, broken = 0;
    for (const OperandMatch& match : matches) {
      const Operand& x = a().operands()[match.a];
      const Operand& y = b().operands()[match.b];
      PairAccount::OperandLine line;
      line.read = match.read;
      line.name = operandName(match.a);
      line.type = typeText(a(), x);
      if (const std::string other = typeText(b(), y); other != line.type) line.type += " | " + other;
      const Compared compared = context_.values->compare(x, y, match.sameForm);
      line.differs = compared.differs() || (match.sameForm && (compared.shape || compared.dtype));
      line.finding = finding(x, y, match, compared);
      unknown += match.read && compared.values == Compared::Values::unknown;
      weak += match.weak;
      broken += match.read && (x.closure == Closure::broken || y.closure == Closure::broken);
      if (match.read) maker(match, line);
      account_.operands.push_back(std::move(line));
    }
    const auto doubt = [&](int count, const char* one, const char* many) {
      if (count == 1) account_.doubts.push_back(std::string("One ") + one);
      if (count > 1) account_.doubts.push_back(std::to_string(count) + " " + many);
    };
    doubt(unknown, "input could not be compared.", "inputs could not be compared.");
    doubt(weak, "operand was matched by its kind and order alone.",
          "operands were matched by their kind and order alone.");
    doubt(broken, "input was written by something that the recorder did not see.",
          "inputs were written by something that the recorder did not see.");
  }

  std::string operandName(uint32_t operand) const {
    const Operand& own = a().operands()[operand];
    for (const uint32_t member : result_.opsA(pair_)) {
      const Op& op = a().ops()[member];
      if (operand < op.firstOperand || operand >= op.firstOperand + op.operandCount) continue;
      const Schema& schema = a().schema(op);
      const std::vector<std::string>& names =
          own.role == Role::output ? schema.returns : schema.arguments;
      std::string name = size_t(own.arg) < names.size() ? names[size_t(own.arg)] : "";
      if (name.empty()) name = std::to_string(own.arg);
      if (own.item >= 0) name += "[" + std::to_string(own.item) + "]";
      if (own.role == Role::after) name += " (as written)";
      return pair_.countA > 1 ? schema.name + " " + name : name;
    }
    return "made earlier";  // what a kernel reads stands for the value that another op made
  }

  static std::string typeText(const SideIndex& side, const Operand& operand) {
    const TensorType& type = side.reader().type(operand.type);
    std::string result(info(type.dtype).shortName);
    result += '[';
    for (size_t i = 0; i < type.sizes.size(); ++i) {
      result += (i == 0 ? "" : ", ") + std::to_string(type.sizes[i]);
    }
    return result + ']';
  }

  static std::string finding(const Operand& x, const Operand& y, const OperandMatch& match,
                             const Compared& compared) {
    if (isNumber(x) && isNumber(y)) {
      return compared.differs() ? "another number (a scalar of the program)" : "the same number";
    }
    if (match.sameForm && compared.shape) return "another shape";
    if (compared.values == Compared::Values::identical) {
      return compared.dtype ? "the same numbers in another dtype" : "identical";
    }
    if (compared.values == Compared::Values::unknown) {
      const SkipReason reason = x.skip != SkipReason::none ? x.skip : y.skip;
      return "not compared: " + std::string(reason == SkipReason::none ? "no fingerprint" : name(reason));
    }
    if (compared.nonFinite) return "NaN or infinities on one side only";
    if (std::isnan(compared.relative) || compared.relative == 0) {
      return "other bits, by less than the sketch can tell";
    }
    std::string result = text(compared.relative) + " relative";
    if (std::isfinite(compared.ulp) && compared.ulp > 0) result += ", about " + text(compared.ulp) + " ulp";
    return result;
  }

  std::string opText(int32_t op, const SideIndex& side) const {
    const Op& own = side.ops()[size_t(op)];
    return side.schema(own).name + " #" + std::to_string(own.id.value);
  }

  void maker(const OperandMatch& match, PairAccount::OperandLine& line) const {
    const int32_t makerA = context_.producersA[match.a], makerB = context_.producersB[match.b];
    if (makerA < 0 && makerB < 0) {
      line.maker = (a().operands()[match.a].flags & kParameter) ? "a parameter that no recorded op wrote"
                                                                : "no recorded op made it";
      return;
    }
    const int32_t pairA = makerA < 0 ? -1 : context_.pairing.pairOfA[size_t(makerA)];
    const int32_t pairB = makerB < 0 ? -1 : context_.pairing.pairOfB[size_t(makerB)];
    line.makerPair = pairA >= 0 ? pairA : pairB;
    if (pairA >= 0 && pairA == pairB) {
      line.maker = opText(makerA, a()) + " | #" + std::to_string(b().ops()[size_t(makerB)].id.value) +
                   " (" + std::string(name(result_.pairs[size_t(pairA)].label)) + ")";
      return;
    }
    line.maker = (makerA < 0 ? "nothing recorded" : opText(makerA, a())) + " in A, " +
                 (makerB < 0 ? "nothing recorded" : opText(makerB, b())) + " in B";
  }

  void reasons() {
    account_.reasons.push_back(describe(result_, index_).explanation);
    const std::vector<int32_t>& frontier = context_.growth.frontier;
    const bool starts = std::find(frontier.begin(), frontier.end(), index_) != frontier.end();
    if (starts) {
      const bool first = context_.growth.first >= 0 && frontier[size_t(context_.growth.first)] == index_;
      account_.reasons.push_back(first ? "It is the first of the frontier: nothing before it explains it."
                                       : "It is on the frontier: nothing before it explains it.");
    } else if (pair_.label == Label::structural) {
      account_.reasons.push_back(
          "It is not on the frontier: another difference of structure explains it (its forward, the same "
          "change in an earlier step), or it changes no value.");
    } else if (pair_.label == Label::propagated) {
      const float error = pair_.error, inherited = pair_.inherited;
      if (std::isfinite(error) && std::isfinite(inherited) && inherited > 0) {
        account_.reasons.push_back("Its inputs differ by up to " + text(inherited) +
                                   " relative and its results by " + text(error) +
                                   ", which is no more than such an op can make of that.");
      }
    }
  }

  /// Backwards along the largest differing input.
  void path() {
    if (pair_.label != Label::propagated && pair_.label != Label::healed) return;
    int32_t at = index_;
    while (account_.path.size() < kLongestPath) {
      account_.path.push_back(at);
      const Label label = result_.pairs[size_t(at)].label;
      if (label == Label::origin || label == Label::source || label == Label::structural) break;
      int32_t next = -1;
      float largest = -1;
      for (const DifferingInput& input : context_.judgement.of(size_t(at))) {
        if (input.maker < 0 || input.maker >= at || !(input.error > largest)) continue;
        largest = input.error;
        next = input.maker;
      }
      if (next < 0) break;
      at = next;
    }
    std::reverse(account_.path.begin(), account_.path.end());
  }

  const DiffResult& result_;
  const DiffContext& context_;
  const int32_t index_;
  const Pair& pair_;
  PairAccount account_;
};

}  // namespace

PairAccount accountFor(const DiffResult& result, int32_t pair) {
  if (pair < 0 || size_t(pair) >= result.pairs.size() || !result.context ||
      !result.context->matcher) {
    return {};
  }
  return Accountant(result, *result.context, pair).run();
}

int32_t pairOf(const DiffResult& result, bool ofA, OpId op) {
  if (!result.context || !result.context->indexA) return -1;
  const int32_t at = (ofA ? result.context->indexA : result.context->indexB)->indexOf(op);
  if (at < 0) return -1;
  const Pairing& pairing = result.context->pairing;
  return (ofA ? pairing.pairOfA : pairing.pairOfB)[size_t(at)];
}

}  // namespace ulpscope
