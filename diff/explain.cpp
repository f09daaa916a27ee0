#include <algorithm>
#include <cmath>
#include <cstdio>

#include "diff/context.h"
#include "diff/dataflow.h"
#include "diff/diff.h"
#include "diff/scalar_difference.h"

namespace ulpscope {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

/// Fills one Origin from a pair. Only borrows.
class Describer {
 public:
  Describer(const DiffResult& result, const DiffContext& context, int32_t index)
      : result_(result), context_(context), index_(index), pair_(result.pairs[size_t(index)]) {}

  Origin run() {
    origin_.pair = index_;
    origin_.label = pair_.label;
    origin_.difference = pair_.difference;
    origin_.expected = pair_.expected;
    origin_.confidence = pair_.confidence;
    origin_.alignment = pair_.method;
    origin_.relativeError = pair_.error;
    origin_.ulp = pair_.ulp;
    if (pair_.label == Label::structural && pair_.operandA < 0 && pair_.operandB < 0) {
      origin_.relativeError = origin_.ulp = std::numeric_limits<double>::quiet_NaN();
    }
    countInputs();
    place();
    sides();
    operand();
    origin_.share = share();
    origin_.explanation = explain();
    if (pair_.expected && context_.expected) {
      if (const std::string why = context_.expected->of(pair_); !why.empty()) {
        origin_.explanation += " " + why;
      }
    }
    return std::move(origin_);
  }

 private:
  const SideIndex& a() const { return *context_.indexA; }
  const SideIndex& b() const { return *context_.indexB; }

  void countInputs() {
    if (pair_.countA == 0 || pair_.countB == 0 || !context_.matcher) return;
    std::vector<OperandMatch> matches;
    context_.matcher->match(index_, matches);
    for (const OperandMatch& match : matches) {
      if (!match.read || isNumber(a().operands()[match.a])) continue;
      const Compared compared = context_.values->compare(
          a().operands()[match.a], b().operands()[match.b], match.sameForm);
      if (compared.values == Compared::Values::unknown) continue;
      ++origin_.inputs;
      origin_.inputsIdentical += !compared.differs();
    }
  }

  /// The op of one side that owns an operand, among the pair's members; else the first member.
  static uint32_t owner(const SideIndex& side, std::span<const uint32_t> members, int32_t operand) {
    for (const uint32_t member : members) {
      const Op& op = side.ops()[member];
      if (operand >= int32_t(op.firstOperand) &&
          operand < int32_t(op.firstOperand + op.operandCount)) {
        return member;
      }
    }
    return members.front();
  }

  /// The op of a group that computed what the one named for it may only have moved or reshaped.
  static std::string computing(const SideIndex& side, std::span<const uint32_t> members,
                               const OriginSide& named) {
    const auto own = std::find_if(members.begin(), members.end(), [&](uint32_t member) {
      return side.ops()[member].id == named.id;
    });
    if (own == members.end() || !side.facts(side.ops()[*own]).movesData) return named.op;
    for (auto before = own; before != members.begin();) {
      const Op& op = side.ops()[*--before];
      if (!side.facts(op).movesData) return side.schema(op).name;
    }
    return named.op;
  }

  const Provenance* provenance(const SideIndex& side, uint32_t member) const {
    const Op& op = side.ops()[member];
    if (!op.provenance) return nullptr;
    const Provenance& from = side.reader().provenance(op.provenance);
    return from.sources.empty() ? nullptr : &from;
  }

  /// The original op whose value a kernel's operand holds, or its last one.
  static const SourceOp& tiedSource(const SideIndex& side, const Provenance& from, int32_t operand) {
    if (operand >= 0) {
      const Operand& decided = side.operands()[size_t(operand)];
      for (const OutputTie& tie : from.ties) {
        if (tie.arg == decided.arg && tie.source >= 0 &&
            size_t(tie.source) < from.sources.size()) {
          return from.sources[size_t(tie.source)];
        }
      }
    }
    return from.sources.back();
  }

  void sides() {
    if (pair_.countA > 0) origin_.a = side(a(), result_.opsA(pair_), pair_.operandA);
    if (pair_.countB > 0) origin_.b = side(b(), result_.opsB(pair_), pair_.operandB);
    // The program's own op: of the side that is not compiled, else what the kernel came from.
    const OriginSide* plain = nullptr;
    for (const auto* one : {&origin_.a, &origin_.b}) {
      if (*one && (*one)->kernel.empty() && !regionOnly(*one)) {
        plain = &**one;
        break;
      }
    }
    origin_.op = plain != nullptr ? plain->op : origin_.a ? origin_.a->op : origin_.b->op;
    if (plain != nullptr && pair_.difference != Difference::alias) {
      origin_.op = plain == &*origin_.a ? computing(a(), result_.opsA(pair_), *plain)
                                        : computing(b(), result_.opsB(pair_), *plain);
    }
    if (pair_.difference == Difference::random) {
      for (const auto* one : {&origin_.a, &origin_.b}) {
        Schema schema;
        schema.name = *one ? (*one)->op : "";
        if (factsOf(schema).random) {
          origin_.op = schema.name;
          break;
        }
      }
    }
    const auto collect = [&](const SideIndex& index, std::span<const uint32_t> members) {
      for (const uint32_t member : members) {
        if (const Provenance* from = provenance(index, member);
            from != nullptr && index.ops()[member].kind == OpKind::kernel) {
          for (const SourceOp& source : from->sources) addOp(source.op);
        } else if (index.ops()[member].kind != OpKind::compiled) {
          addOp(index.schema(index.ops()[member]).name);
        }
      }
    };
    collect(a(), result_.opsA(pair_));
    collect(b(), result_.opsB(pair_));
    if (origin_.ops.empty()) origin_.ops.push_back(origin_.op);
  }

  bool regionOnly(const std::optional<OriginSide>& one) const {
    const bool ofA = origin_.a && &*origin_.a == &*one;
    const SideIndex& index = ofA ? a() : b();
    const int32_t at = index.indexOf(one->id);
    return at >= 0 && index.ops()[size_t(at)].kind == OpKind::compiled;
  }

  void addOp(const std::string& name) {
    // out= and in-place forms of one operator are one op of the program.
    const std::string base = baseName(name);
    for (const std::string& known : origin_.ops) {
      if (baseName(known) == base) return;
    }
    origin_.ops.push_back(name);
  }

  OriginSide side(const SideIndex& index, std::span<const uint32_t> members, int32_t operand) const {
    const uint32_t member = owner(index, members, operand);
    const Op& op = index.ops()[member];
    OriginSide result;
    result.id = op.id;
    result.op = index.schema(op).name;
    // Of random numbers the op that draws them, whichever of the group hands them on.
    if (pair_.difference == Difference::random) {
      for (const uint32_t other : members) {
        if (!index.facts(index.ops()[other]).random) continue;
        result.id = index.ops()[other].id;
        result.op = index.schema(index.ops()[other]).name;
        result.stack = index.stack(other);
        return result;
      }
    }
    if (op.kind == OpKind::kernel) {
      result.kernel = index.schema(op).name;
      if (const size_t at = result.kernel.find("::"); at != std::string::npos) {
        result.kernel.erase(0, at + 2);
      }
      if (const Provenance* from = provenance(index, member)) {
        if (!from->kernel.empty()) result.kernel = from->kernel;
        const SourceOp* source = &tiedSource(index, *from, operand);
        if (pair_.difference == Difference::random) {
          for (const SourceOp& other : from->sources) {
            if (index.facts(other).random) source = &other;
          }
        }
        result.op = source->op;
        result.stack = source->stack;
      }
    }
    if (result.stack.empty()) result.stack = index.stack(member);
    return result;
  }

  void place() {
    const bool ofA = pair_.countA > 0;
    const SideIndex& index = ofA ? a() : b();
    const std::span<const uint32_t> members = ofA ? result_.opsA(pair_) : result_.opsB(pair_);
    const uint32_t member = owner(index, members, ofA ? pair_.operandA : pair_.operandB);
    const Op& op = index.ops()[member];
    origin_.step = op.step;
    origin_.phase = op.phase;
    std::tie(origin_.module, origin_.moduleClass) = index.module(member);
    if (op.kind == OpKind::kernel) {
      if (const Provenance* from = provenance(index, member)) {
        const SourceOp& source = tiedSource(index, *from, ofA ? pair_.operandA : pair_.operandB);
        origin_.module = source.module;
        origin_.moduleClass = source.moduleClass;
      }
    }
    const std::string rank = index.reader().meta("rank");
    if (!rank.empty()) origin_.rank = std::atoi(rank.c_str());
  }

  void operand() {
    const bool ofA = pair_.operandA >= 0;
    const int32_t at = ofA ? pair_.operandA : pair_.operandB;
    if (at < 0) return;
    const SideIndex& index = ofA ? a() : b();
    const Operand& operand = index.operands()[size_t(at)];
    const TensorType& type = index.reader().type(operand.type);
    origin_.operandRole = operand.role;
    origin_.operandIndex = operand.arg;
    origin_.operandDType = type.dtype;
    origin_.operandShape = type.sizes;
  }

  double share() const {
    const std::vector<int32_t>& frontier = context_.growth.frontier;
    const auto at = std::find(frontier.begin(), frontier.end(), index_);
    return at == frontier.end() ? std::numeric_limits<double>::quiet_NaN()
                                : double(context_.growth.shares[size_t(at - frontier.begin())]);
  }

  std::string amount() const {
    std::string text;
    if (std::isfinite(origin_.relativeError) && origin_.relativeError > 0) {
      text = number(origin_.relativeError) + " relative";
    }
    if (std::isfinite(origin_.ulp) && origin_.ulp > 0) {
      text += (text.empty() ? "about " : ", about ") + number(origin_.ulp) + " ulp";
    }
    return text.empty() ? "" : " (" + text + ")";
  }

  std::string inputsText() const {
    if (origin_.inputs == 0) return "nothing that goes in could be compared";
    if (origin_.inputsIdentical == origin_.inputs) {
      return origin_.inputs == 1 ? "its only compared input is identical"
                                 : "all " + std::to_string(origin_.inputs) + " inputs are identical";
    }
    return std::to_string(origin_.inputsIdentical) + " of " + std::to_string(origin_.inputs) +
           " inputs are identical";
  }

  std::string explain() const {
    switch (pair_.label) {
      case Label::origin: return explainOrigin();
      case Label::structural: return explainStructural();
      case Label::source: return explainSource();
      case Label::identical: return "Everything that was compared is bitwise identical.";
      case Label::within: return "It differs, within the tolerance or the noise of two runs of A.";
      case Label::propagated:
        return "It already gets differing inputs, and hands a difference on" + amount() + ".";
      case Label::healed: return "Its inputs differ, yet its outputs agree bitwise.";
      case Label::opaque: return "None of its values could be compared.";
    }
    return {};
  }

  std::string explainOrigin() const {
    if (pair_.difference == Difference::random) {
      return "It draws random numbers, and " +
             std::string(pair_.expected
                             ? "compiled code draws them from another stream than eager code; "
                               "torch._inductor.config.fallback_random = True restores eager's."
                             : "the two runs drew different ones.");
    }
    const bool kernelA = origin_.a && !origin_.a->kernel.empty();
    const bool kernelB = origin_.b && !origin_.b->kernel.empty();
    if (const int32_t region = regionSide(); region != 0) {
      const std::string which = region > 0 ? "B" : "A";
      if (pair_.difference == Difference::alias) {
        return "The compiled region of " + which + " gets identical inputs and its ops agree, but "
               "what it returns is another tensor or view than " + origin_.op + " gives" + amount() +
               ".";
      }
      return "The difference starts inside the compiled region of " + which +
             ", whose kernels were not seen; it stands for " + joined(origin_.ops) + amount() + ".";
    }
    if (kernelA != kernelB && origin_.ops.size() > 1) {
      return "The kernel gets identical inputs and writes another value for " + origin_.op +
             amount() + "; any of " + joined(origin_.ops) + " inside it may be the cause.";
    }
    if (pair_.difference == Difference::alias && origin_.inputsIdentical < origin_.inputs) {
      return explainAlias();
    }
    std::string text = inputsText() + ", what comes out is not" + amount() + ".";
    if (origin_.inputs > origin_.inputsIdentical) {
      text = "It adds far more than it inherits: its inputs differ by " + number(pair_.inherited) +
             " relative, its output by " +
             (std::isfinite(pair_.error) ? number(pair_.error) : "NaN or infinity") + ".";
    }
    text[0] = char(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
  }

  /// +1: B's side is a compiled region, -1: A's is, 0: neither.
  int32_t regionSide() const {
    for (const uint32_t member : result_.opsB(pair_)) {
      if (b().ops()[member].kind == OpKind::compiled) return 1;
    }
    for (const uint32_t member : result_.opsA(pair_)) {
      if (a().ops()[member].kind == OpKind::compiled) return -1;
    }
    return 0;
  }

  std::string explainStructural() const {
    const size_t count = pair_.countA + pair_.countB;
    const std::string others = count > 1 ? " and " + std::to_string(count - 1) + " more" : "";
    switch (pair_.difference) {
      case Difference::missing:
        return "A runs " + origin_.op + others + " here, B has nothing in its place.";
      case Difference::extra:
        return "B runs " + origin_.op + others + " here, A has nothing in its place.";
      case Difference::scalar: {
        const Op& opA = a().ops()[result_.opsA(pair_).front()];
        const Op& opB = b().ops()[result_.opsB(pair_).front()];
        const ScalarDifference scalar = scalarDifference(a(), opA, b(), opB);
        return "It gets another scalar argument: " + scalar.argument + " is " + scalar.a +
               " in A and " + scalar.b + " in B.";
      }
      case Difference::alias: return explainAlias();
      case Difference::dtype:
      case Difference::shape: {
        std::string what = pair_.difference == Difference::dtype ? "dtype" : "shape";
        return "Its inputs have the same form in both runs, its output has another " + what + ".";
      }
      case Difference::unknown: {
        std::vector<std::string> inB;
        for (const uint32_t member : result_.opsB(pair_)) {
          inB.push_back(b().schema(b().ops()[member]).name);
        }
        return "B computes this with other operators (" + joined(inB) +
               ") that give another value" + amount() + ".";
      }
      default: return "The two runs have different operators here.";
    }
  }

  std::string explainAlias() const {
    return "It reads another tensor, or another view of one: what it gets in A and in B is not the "
           "same thing, and what made both agrees.";
  }

  std::string explainSource() const {
    if (pair_.difference == Difference::random) {
      return "It draws random numbers and gets others in B: another seed, or a generator that was "
             "used differently before.";
    }
    if (pair_.difference == Difference::unknown) {
      return "It computes with memory that nobody had written (torch.empty or the like), which holds "
             "something else in each run.";
    }
    const bool parameter =
        pair_.operandA >= 0 && (a().operands()[size_t(pair_.operandA)].flags & kParameter);
    const std::string what = parameter ? "a parameter" : "a tensor";
    return "It reads " + what + " that differs" + amount() +
           " and that no recorded op made: other data, another checkpoint, or a write that the "
           "recorder did not see.";
  }

  const DiffResult& result_;
  const DiffContext& context_;
  const int32_t index_;
  const Pair& pair_;
  Origin origin_;
};

}  // namespace

Origin describe(const DiffResult& result, int32_t pair) {
  if (pair < 0 || size_t(pair) >= result.pairs.size() || !result.a.reader || !result.b.reader) {
    return {};
  }
  const DiffContext* context = result.context.get();
  // A copy of a result has buffers of its own, which the context does not know.
  const bool current = context != nullptr && context->indexA &&
                       context->indexA->ops().data() == result.a.ops.ops.data() &&
                       context->indexB->ops().data() == result.b.ops.ops.data();
  if (current) return Describer(result, *context, pair).run();
  DiffContext fresh;
  fresh.indexA = std::make_unique<SideIndex>(result.a, nullptr);
  fresh.indexB = std::make_unique<SideIndex>(result.b, nullptr);
  return Describer(result, fresh, pair).run();
}

}  // namespace ulpscope
