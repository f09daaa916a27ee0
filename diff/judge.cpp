#include "diff/judge.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "diff/confidence.h"
#include "diff/dataflow.h"
#include "diff/input_sources.h"
#include "diff/result_differences.h"
#include "diff/scalar_difference.h"

namespace ulpscope {
namespace {

class PairJudge {
 public:
  PairJudge(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
            const OperandMatcher& matcher, ValueComparer& values, const Allowance& allowance,
            bool mixed)
      : a_(a), b_(b), pairing_(pairing), matcher_(matcher), values_(values),
        allowance_(allowance), differences_(a, b, pairing, matcher, values, allowance),
        mixed_(mixed) {}

  Judgement run() {
    const size_t count = pairing_.pairs.size();
    judgement_.effective.assign(count, false);
    judgement_.unexplained.assign(count, false);
    judgement_.unmade.assign(count, false);
    judgement_.firstInput.assign(count + 1, 0);
    for (size_t p = 0; p < count; ++p) {
      judgePair(int32_t(p));
      noteWrites(int32_t(p));
      judgement_.firstInput[p + 1] = uint32_t(judgement_.inputs.size());
    }
    traceInputs(a_, b_, pairing_, matcher_, values_, differences_, judgement_, mixed_);
    judgement_.hostDiffered = host_ >= 0;
    return std::move(judgement_);
  }

 private:
  struct Tally {
    int compared = 0, unknown = 0, differ = 0, within = 0, weak = 0;
    bool dtype = false, shape = false, broken = false;
    bool number = false;    // a Python number that became a tensor differs
    float worst = 0;        // relative error
    Compared worstCompared;
    int32_t a = -1, b = -1;      // operands of the worst
    int32_t typeA = -1, typeB = -1;  // operands of the first difference in type
  };

  void judgePair(int32_t index) {
    if (differences_.isLonely(index)) {
      judgeLonely(index);
      return;
    }
    matches_.clear();
    makers_.clear();
    matcher_.match(index, matches_, &makers_);
    Tally in, out;
    for (const int32_t maker : makers_) {
      ++in.compared;
      if (!differences_.atHand(maker)) continue;
      ++in.differ;
      DifferingInput input;
      input.maker = maker;
      input.derived = true;
      input.error = pairing_.pairs[size_t(maker)].error;
      judgement_.inputs.push_back(input);
      if (std::isfinite(input.error)) in.worst = std::max(in.worst, input.error);
    }
    for (const OperandMatch& match : matches_) {
      const Operand& a = a_.index.operands()[match.a];
      const Operand& b = b_.index.operands()[match.b];
      const Compared compared = values_.compare(a, b, match.sameForm);
      if (match.read && isNumber(a) && isNumber(b)) {
        in.number |= compared.differs();
        continue;
      }
      add(match.read ? in : out, index, match, compared);
      if (match.read && (compared.differs() || (match.sameForm && (compared.shape || compared.dtype)))) {
        DifferingInput input;
        input.derived = match.maker >= 0;
        input.maker = match.maker;
        input.a = match.a;
        input.b = match.b;
        input.sameForm = match.sameForm;
        input.error = std::isnan(compared.relative) ? 1.0f : compared.relative;
        judgement_.inputs.push_back(input);
      }
    }
    label(index, in, out);
  }

  void add(Tally& tally, int32_t index, const OperandMatch& match,
           const Compared& compared) const {
    const Operand& a = a_.index.operands()[match.a];
    const Operand& b = b_.index.operands()[match.b];
    tally.weak += match.weak;
    if (match.read && (a.closure == Closure::broken || b.closure == Closure::broken)) {
      tally.broken = true;
    }
    if (match.sameForm && (compared.dtype || compared.shape)) {
      tally.dtype |= compared.dtype;
      tally.shape |= compared.shape;
      if (tally.typeA < 0) {
        tally.typeA = int32_t(match.a);
        tally.typeB = int32_t(match.b);
      }
    }
    if (compared.values == Compared::Values::unknown) {
      ++tally.unknown;
      return;
    }
    ++tally.compared;
    if (!compared.differs()) return;
    const int32_t producer = match.read ? a_.producers[match.a] : -1;
    const uint32_t op = producer >= 0 ? uint32_t(producer)
                                      : pairing_.membersA[pairing_.pairs[size_t(index)].firstA];
    if (allowance_.accepts(match.a, op, compared)) {
      ++tally.within;
    } else {
      ++tally.differ;
    }
    // An unknown size counts as large; NaN or infinity on one side as the largest.
    const float size = compared.nonFinite ? INFINITY
                       : std::isnan(compared.relative) ? 0.0f : compared.relative;
    if (tally.a < 0 || size > tally.worst) {
      tally.worst = size;
      tally.worstCompared = compared;
      tally.a = int32_t(match.a);
      tally.b = int32_t(match.b);
    }
  }

  void label(int32_t index, const Tally& in, const Tally& out) {
    Pair& pair = pairing_.pairs[size_t(index)];
    const Op& opA = a_.index.ops()[pairing_.membersA[pair.firstA]];
    const Op& opB = b_.index.ops()[pairing_.membersB[pair.firstB]];
    const bool single = pair.countA == 1 && pair.countB == 1 && opA.kind == opB.kind;
    const bool sameOp = single && a_.index.name(opA) == b_.index.name(opB);
    const bool inForm = in.dtype || in.shape;
    bool inDiffers = in.differ > 0 || inForm;
    const bool outForm = out.dtype || out.shape;

    pair.error = out.a >= 0 ? out.worst : 0;
    pair.inherited = in.worst;
    if (out.a >= 0 && std::isnan(out.worstCompared.relative)) pair.error = NAN;
    pair.ulp = out.a >= 0 ? out.worstCompared.ulp : 0;
    pair.operandA = out.a;
    pair.operandB = out.b;
    pair.confidence = confidence::base(pair.method);
    if (in.unknown > 0) pair.confidence *= confidence::kUnseenInputs;
    if (in.broken) pair.confidence *= confidence::kBrokenClosure;
    if (in.weak + out.weak > 0) pair.confidence *= confidence::kWeakMatch;
    differences_.set(index, out.differ > 0 || outForm);

    const double terms = termsSummed(a_.index, opA);
    // A compiler folds and fills in scalars (a scale that was None): the values tell.
    const bool lowered = isCompiled(a_, pairing_.membersA[pair.firstA]) ||
                         isCompiled(b_, pairing_.membersB[pair.firstB]) ||
                         (mixed_ && a_.index.facts(opA).movesData);
    const bool scalars =
        sameOp && !lowered && (in.number || a_.index.scalars(opA) != b_.index.scalars(opB)) &&
        !scalarDifference(a_.index, opA, b_.index, opB).argument.empty();
    if (sameOp && a_.index.facts(opA).sync && inDiffers) host_ = index;

    if (scalars && !inForm) {
      const bool follows = host_ >= 0 && a_.index.reader().scalars(opA.scalars).size() ==
                                             b_.index.reader().scalars(opB.scalars).size();
      if (!follows) {
        set(pair, Label::structural, Difference::scalar);
        if (out.a < 0) pair.operandA = pair.operandB = -1;
        return;
      }
      inDiffers = true;
      DifferingInput input;
      input.from = DifferingInput::From::host;
      input.maker = host_;
      input.derived = true;
      judgement_.inputs.push_back(input);
    }
    // The values decide the shape (nonzero, a mask): then another shape only follows.
    const bool decided = out.shape && in.differ > 0 && !a_.index.facts(opA).movesData;
    if (decided) host_ = index;
    if (outForm && !inForm && single && !decided) {
      set(pair, Label::structural, out.shape ? Difference::shape : Difference::dtype);
      pair.operandA = out.typeA;
      pair.operandB = out.typeB;
      return;
    }
    const Difference kind = out.a < 0 ? Difference::none : kindOf(out.worstCompared, terms);
    if (!inDiffers) {
      if (out.differ > 0 && single && readsUnmade(index)) {
        return;
      }
      if (out.differ > 0) {
        const bool replaced = pair.method == Method::producers && !sameOp;
        if (replaced && kind != Difference::rounding && kind != Difference::bitwise) {
          // Other operators in the same place, and another function: not a decomposition.
          set(pair, Label::structural, Difference::unknown);
        } else {
          set(pair, Label::origin, kind);
          if (isCompiledView(index)) pair.difference = Difference::alias;
        }
        judgeRandom(pair);
      } else if (out.within > 0 || in.within > 0) {
        set(pair, Label::within, kind);
      } else if (in.compared + out.compared == 0 && in.unknown + out.unknown > 0) {
        set(pair, Label::opaque, Difference::unknown);
      } else {
        set(pair, Label::identical, Difference::none);
      }
      return;
    }
    if (out.differ > 0 || outForm || out.compared == 0) {
      set(pair, Label::propagated, outForm ? (out.shape ? Difference::shape : Difference::dtype) : kind);
      if (out.a < 0) {  // nothing to show but the input
        pair.operandA = in.a >= 0 ? in.a : in.typeA;
        pair.operandB = in.b >= 0 ? in.b : in.typeB;
      }
    } else {
      set(pair, out.within > 0 ? Label::within : Label::healed, kind);
    }
  }

  /// Does this pair, which differs, read memory that nobody had written (torch.empty)? Where it only
  /// writes into it, the rest of that memory is what differs: no evidence of anything.
  bool readsUnmade(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    const auto find = [&](const SideIndex& side, uint32_t member) {
      const Op& op = side.ops()[member];
      int32_t found = -1;
      for (uint32_t k = op.firstOperand; k < op.firstOperand + op.operandCount; ++k) {
        const Operand& operand = side.operands()[k];
        if (!isRead(operand.role) || operand.skip != SkipReason::uninitialised) continue;
        if (found < 0 || operand.role == Role::input) found = int32_t(k);
      }
      return found;
    };
    const int32_t inA = find(a_.index, pairing_.membersA[pair.firstA]);
    const int32_t inB = find(b_.index, pairing_.membersB[pair.firstB]);
    if (inA < 0 || inB < 0) return fillsPart(index);
    if (a_.index.operands()[size_t(inA)].role == Role::input) {
      set(pair, Label::source, Difference::unknown);
      pair.operandA = inA;
      pair.operandB = inB;
    } else {
      set(pair, Label::opaque, Difference::unknown);
      judgement_.unmade[size_t(index)] = true;
    }
    return true;
  }

  /// A kernel with an op in it that writes in place fills a part of a buffer; until all parts are
  /// filled, the rest is what nobody had written.
  bool fillsPart(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    const Op& op = a_.index.ops()[pairing_.membersA[pair.firstA]];
    if (op.kind != OpKind::kernel || !op.provenance || pair.operandA < 0) return false;
    const auto& sources = a_.index.reader().provenance(op.provenance).sources;
    if (std::none_of(sources.begin(), sources.end(),
                     [](const SourceOp& source) { return source.op.ends_with('_'); })) {
      return false;
    }
    const auto written = kernelWriters_.find(a_.index.operands()[size_t(pair.operandA)].storage.value);
    if (written != kernelWriters_.end() && !judgement_.unmade[size_t(written->second)]) return false;
    set(pair, Label::opaque, Difference::unknown);
    judgement_.unmade[size_t(index)] = true;
    return true;
  }

  /// Remembers which pair wrote the buffers of a kernel last.
  void noteWrites(int32_t index) {
    const Pair& pair = pairing_.pairs[size_t(index)];
    for (uint32_t m = pair.firstA; m < pair.firstA + pair.countA; ++m) {
      const Op& op = a_.index.ops()[pairing_.membersA[m]];
      if (op.kind != OpKind::kernel) continue;
      for (const Operand& operand : a_.index.operandsOf(op)) {
        if (isWritten(operand.role)) kernelWriters_[operand.storage.value] = index;
      }
    }
  }

  void judgeLonely(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    const bool ofA = pair.countA > 0;
    const AlignedSide& side = ofA ? a_ : b_;
    const std::span<const uint32_t> members =
        ofA ? std::span<const uint32_t>{pairing_.membersA.data() + pair.firstA, pair.countA}
            : std::span<const uint32_t>{pairing_.membersB.data() + pair.firstB, pair.countB};
    pair.error = pair.inherited = pair.ulp = 0;
    pair.confidence = confidence::base(Method::none);
    bool enclosing = true, moves = true, compiled = true;
    for (const uint32_t member : members) {
      const Op& op = side.index.ops()[member];
      enclosing &= op.kind == OpKind::wrapper || op.kind == OpKind::compiled;
      const OpFacts& facts = side.index.facts(op);
      moves &= facts.allocates || (facts.movesData && !facts.copies);
      compiled &= op.kind == OpKind::kernel || side.index.compiledRegion(member) >= 0;
    }
    if (enclosing || compiled) {
      // A frame around ops that have their own pairs, or a kernel whose ops the other side does not
      // show: nothing to compare with, and no evidence of another program.
      set(pair, Label::opaque, Difference::unknown);
      return;
    }
    set(pair, Label::structural, ofA ? Difference::missing : Difference::extra);
    judgement_.unexplained[size_t(index)] = !moves;
  }

  /// A region or kernel-free group whose result is a view: identical inputs, all kernels agree.
  bool isCompiledView(int32_t index) const {
    const Pair& pair = pairing_.pairs[size_t(index)];
    const auto onlyMoves = [](const AlignedSide& side, std::span<const uint32_t> members) {
      return std::all_of(members.begin(), members.end(), [&](uint32_t member) {
        const Op& op = side.index.ops()[member];
        return op.kind == OpKind::op && side.index.facts(op).movesData;
      });
    };
    const auto isRegion = [](const AlignedSide& side, std::span<const uint32_t> members) {
      return members.size() == 1 && side.index.ops()[members[0]].kind == OpKind::compiled;
    };
    const std::span<const uint32_t> as{pairing_.membersA.data() + pair.firstA, pair.countA};
    const std::span<const uint32_t> bs{pairing_.membersB.data() + pair.firstB, pair.countB};
    return (onlyMoves(a_, as) && isRegion(b_, bs)) || (onlyMoves(b_, bs) && isRegion(a_, as));
  }

  /// An op that draws random numbers: another stream, not another arithmetic.
  void judgeRandom(Pair& pair) const {
    const auto draws = [&](const AlignedSide& side, const std::vector<uint32_t>& members,
                           uint32_t first, uint16_t count) {
      for (uint32_t k = first; k < first + count; ++k) {
        const Op& op = side.index.ops()[members[k]];
        if (op.kind != OpKind::kernel && side.index.facts(op).random) return true;
        for (const SourceOp& source : side.index.reader().provenance(op.provenance).sources) {
          Schema schema;
          schema.name = source.op;
          if (factsOf(schema).random) return true;
        }
      }
      return false;
    };
    const bool drawsA = draws(a_, pairing_.membersA, pair.firstA, pair.countA);
    const bool drawsB = draws(b_, pairing_.membersB, pair.firstB, pair.countB);
    if (!drawsA && !drawsB) return;
    pair.difference = Difference::random;
    const auto compiled = [](const AlignedSide& side, const std::vector<uint32_t>& members,
                             uint32_t first, uint16_t count) {
      for (uint32_t k = first; k < first + count; ++k) {
        if (side.index.compiledRegion(members[k]) >= 0 ||
            side.index.ops()[members[k]].kind == OpKind::kernel) {
          return true;
        }
      }
      return false;
    };
    // Inductor draws from its own generator; between two eager runs the stream is the program's.
    const bool one = compiled(a_, pairing_.membersA, pair.firstA, pair.countA) !=
                     compiled(b_, pairing_.membersB, pair.firstB, pair.countB);
    if (one) {
      pair.expected = true;
    } else {
      pair.label = Label::source;
    }
  }

  static bool isCompiled(const AlignedSide& side, uint32_t op) {
    return side.index.compiledRegion(op) >= 0 || side.index.ops()[op].kind == OpKind::kernel;
  }

  static void set(Pair& pair, Label label, Difference difference) {
    pair.label = label;
    pair.difference = difference;
  }

  const AlignedSide& a_;
  const AlignedSide& b_;
  Pairing& pairing_;
  const OperandMatcher& matcher_;
  ValueComparer& values_;
  const Allowance& allowance_;
  Judgement judgement_;
  std::unordered_map<int64_t, int32_t> kernelWriters_;  // storage of A: the pair that wrote it last
  ResultDifferences differences_;
  const bool mixed_;
  int32_t host_ = -1;  // the last pair by which a differing value reached the host
  std::vector<int32_t> makers_;
  std::vector<OperandMatch> matches_;
};

}  // namespace

Judgement judge(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
                const OperandMatcher& matcher, ValueComparer& values, const Allowance& allowance,
                bool mixed) {
  return PairJudge(a, b, pairing, matcher, values, allowance, mixed).run();
}

}  // namespace ulpscope
