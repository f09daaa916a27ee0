#include "diff/judge.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "diff/dataflow.h"

namespace ulpscope {
namespace {

// How much to believe in a pair by the way it was found. Calibrated on injected faults; see
// docs/alignment.md.
float baseConfidence(Method method) {
  switch (method) {
    case Method::merkle: return 0.99f;
    case Method::anchor: return 0.98f;
    case Method::mapping: return 0.99f;
    case Method::edit: return 0.92f;
    case Method::producers: return 0.88f;
    case Method::provenance: return 0.9f;
    case Method::none: return 0.9f;
    case Method::coarse: return 0.4f;
  }
  return 0.5f;
}
constexpr float kUnseenInputs = 0.8f;  // some inputs could not be compared
constexpr float kWeakMatch = 0.7f;     // the operands were matched by kind and order
constexpr float kBrokenClosure = 0.7f; // written behind the recorder's back
constexpr float kNoiseMargin = 3;      // times the largest difference between two runs of A

class PairJudge {
 public:
  PairJudge(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
            const OperandMatcher& matcher, ValueComparer& values, const Allowance& allowance,
            bool mixed)
      : a_(a), b_(b), pairing_(pairing), matcher_(matcher), values_(values),
        allowance_(allowance), mixed_(mixed) {}

  Judgement run() {
    const size_t count = pairing_.pairs.size();
    outputsDiffer_.assign(count, Known::no);
    differsInside_.assign(count, false);
    judgement_.effective.assign(count, false);
    judgement_.unexplained.assign(count, false);
    judgement_.firstInput.assign(count + 1, 0);
    for (size_t p = 0; p < count; ++p) {
      judgePair(int32_t(p));
      judgement_.firstInput[p + 1] = uint32_t(judgement_.inputs.size());
    }
    for (size_t p = 0; p < count; ++p) trace(int32_t(p));
    for (size_t p = 0; p < count; ++p) judgeRegion(int32_t(p));
    return std::move(judgement_);
  }

 private:
  struct Tally {
    int compared = 0, unknown = 0, differ = 0, within = 0, weak = 0;
    bool dtype = false, shape = false, broken = false;
    float worst = 0;        // relative error
    Compared worstCompared;
    int32_t a = -1, b = -1;      // operands of the worst
    int32_t typeA = -1, typeB = -1;  // operands of the first difference in type
  };

  void judgePair(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    if (pair.countA == 0 || pair.countB == 0) {
      judgeLonely(index);
      return;
    }
    matches_.clear();
    makers_.clear();
    matcher_.match(index, matches_, &makers_);
    Tally in, out;
    for (const int32_t maker : makers_) {
      ++in.compared;
      const Pair& made = pairing_.pairs[size_t(maker)];
      const bool lonely = made.countA == 0 || made.countB == 0;
      if (lonely ? !carriesDifference(maker) : !differs(maker)) continue;
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
      add(match.read ? in : out, match, a, b, compared);
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

  /// Do the results of a pair differ? Of one that comes later in the order (a kernel that also holds
  /// later ops), found out here.
  bool differs(int32_t index) {
    Known& known = outputsDiffer_[size_t(index)];
    const Pair& pair = pairing_.pairs[size_t(index)];
    if (known == Known::no && pair.countA > 0 && pair.countB > 0) {
      known = Known::same;
      std::vector<OperandMatch> matches;
      matcher_.matchResults(index, matches);
      for (const OperandMatch& match : matches) {
        const Compared compared = values_.compare(a_.index.operands()[match.a],
                                                  b_.index.operands()[match.b], match.sameForm);
        const bool allowed = isWithin(compared, allowance_.tolerance) || isNoise(match.a, compared);
        if (compared.differs() && !allowed) known = Known::differ;
      }
    }
    return known == Known::differ;
  }

  void add(Tally& tally, const OperandMatch& match, const Operand& a, const Operand& b,
           const Compared& compared) const {
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
    if (isWithin(compared, allowance_.tolerance) || isNoise(match.a, compared)) {
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

  bool isNoise(uint32_t operandA, const Compared& compared) const {
    if (operandA >= allowance_.noise.size() || compared.nonFinite) return false;
    const float noise = allowance_.noise[operandA];
    return noise > 0 && (std::isnan(compared.relative) || compared.relative <= kNoiseMargin * noise);
  }

  void label(int32_t index, const Tally& in, const Tally& out) {
    Pair& pair = pairing_.pairs[size_t(index)];
    const Op& opA = a_.index.ops()[pairing_.membersA[pair.firstA]];
    const Op& opB = b_.index.ops()[pairing_.membersB[pair.firstB]];
    const bool single = pair.countA == 1 && pair.countB == 1 && opA.kind == opB.kind;
    const bool sameOp = single && a_.index.name(opA) == b_.index.name(opB);
    const bool inForm = in.dtype || in.shape;
    const bool inDiffers = in.differ > 0 || inForm;
    const bool outForm = out.dtype || out.shape;

    pair.error = out.a >= 0 ? out.worst : 0;
    pair.inherited = in.worst;
    if (out.a >= 0 && std::isnan(out.worstCompared.relative)) pair.error = NAN;
    pair.ulp = out.a >= 0 ? out.worstCompared.ulp : 0;
    pair.operandA = out.a;
    pair.operandB = out.b;
    pair.confidence = baseConfidence(pair.method);
    if (in.unknown > 0) pair.confidence *= kUnseenInputs;
    if (in.broken) pair.confidence *= kBrokenClosure;
    if (in.weak + out.weak > 0) pair.confidence *= kWeakMatch;
    outputsDiffer_[size_t(index)] = out.differ > 0 || outForm ? Known::differ : Known::same;

    const double terms = termsSummed(a_.index, opA);
    // A compiler folds and fills in scalars (a scale that was None): the values tell.
    const bool lowered = isCompiled(a_, pairing_.membersA[pair.firstA]) ||
                         isCompiled(b_, pairing_.membersB[pair.firstB]) ||
                         (mixed_ && a_.index.facts(opA).movesData);
    const bool scalars =
        sameOp && !lowered && a_.index.scalars(opA) != b_.index.scalars(opB) &&
        !scalarDifference(a_.index, opA, b_.index, opB).argument.empty();
    if (sameOp && a_.index.facts(opA).sync && inDiffers) judgement_.hostDiffered = true;

    if (scalars && !inForm && !(judgement_.hostDiffered && a_.index.reader().scalars(opA.scalars).size() ==
                                    b_.index.reader().scalars(opB.scalars).size())) {
      set(pair, Label::structural, Difference::scalar);
      if (out.a < 0) pair.operandA = pair.operandB = -1;
      return;
    }
    if (outForm && !inForm && single) {
      set(pair, Label::structural, out.shape ? Difference::shape : Difference::dtype);
      pair.operandA = out.typeA;
      pair.operandB = out.typeB;
      outputsDiffer_[size_t(index)] = Known::differ;
      return;
    }
    const Difference kind = out.a < 0 ? Difference::none : kindOf(out.worstCompared, terms);
    if (!inDiffers) {
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

  void judgeLonely(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    const bool ofA = pair.countA > 0;
    const AlignedSide& side = ofA ? a_ : b_;
    const std::span<const uint32_t> members =
        ofA ? std::span<const uint32_t>{pairing_.membersA.data() + pair.firstA, pair.countA}
            : std::span<const uint32_t>{pairing_.membersB.data() + pair.firstB, pair.countB};
    pair.error = pair.inherited = pair.ulp = 0;
    pair.confidence = baseConfidence(Method::none);
    bool enclosing = true, moves = true, compiled = true;
    for (const uint32_t member : members) {
      const Op& op = side.index.ops()[member];
      enclosing &= op.kind == OpKind::wrapper || op.kind == OpKind::compiled;
      moves &= side.index.facts(op).movesData || side.index.facts(op).allocates;
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

  /// A compiled region stands for what its kernels and extern ops do not show by themselves.
  void judgeRegion(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    bool kernels = false, inside = false, region = false;
    const auto look = [&](const AlignedSide& side, const std::vector<int32_t>& pairOf,
                          std::span<const uint32_t> members) {
      for (const uint32_t member : members) {
        if (side.index.ops()[member].kind != OpKind::compiled) continue;
        region = true;
        for (size_t i = size_t(member) + 1; i < side.index.size(); ++i) {
          if (side.index.compiledRegion(i) != int32_t(member)) break;
          kernels |= side.index.ops()[i].kind == OpKind::kernel;
          const int32_t own = pairOf[i];
          if (own < 0 || own == index) continue;
          const Label label = pairing_.pairs[size_t(own)].label;
          inside |= label == Label::origin || label == Label::propagated ||
                    label == Label::source || label == Label::structural;
        }
      }
    };
    look(a_, pairing_.pairOfA, {pairing_.membersA.data() + pair.firstA, pair.countA});
    look(b_, pairing_.pairOfB, {pairing_.membersB.data() + pair.firstB, pair.countB});
    if (!region) return;
    if (kernels) {
      // What it returns is made by kernels that are judged themselves; only where those agree can
      // the region be what differs.
      if (inside && pair.label == Label::origin) set(pair, Label::propagated, pair.difference);
    } else if (differsInside_[size_t(index)] &&
               (pair.label == Label::identical || pair.label == Label::opaque ||
                pair.label == Label::healed || pair.label == Label::within)) {
      set(pair, pair.label == Label::healed ? Label::propagated : Label::origin, Difference::numeric);
    }
  }

  static void set(Pair& pair, Label label, Difference difference) {
    pair.label = label;
    pair.difference = difference;
  }

  /// Second pass: where each differing input came from, and which pairs start something by it.
  void trace(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    const uint32_t begin = judgement_.firstInput[size_t(index)];
    const uint32_t end = judgement_.firstInput[size_t(index) + 1];
    bool source = false, rewired = false, hidden = false;
    int32_t sourceInput = -1, rewiredInput = -1;
    for (uint32_t k = begin; k < end; ++k) {
      DifferingInput& input = judgement_.inputs[k];
      if (input.derived) continue;
      find(index, input);
      if (input.from == DifferingInput::From::rewired) {
        rewired = true;
        if (rewiredInput < 0) rewiredInput = int32_t(k);
      } else if (input.from == DifferingInput::From::nobody ||
                 input.from == DifferingInput::From::hidden) {
        if (!isNewSource(input)) continue;
        (input.from == DifferingInput::From::nobody ? source : hidden) = true;
        if (sourceInput < 0) sourceInput = int32_t(k);
      }
    }
    if (pair.label != Label::propagated && pair.label != Label::healed) return;
    if (source || hidden) {
      const DifferingInput& input = judgement_.inputs[size_t(sourceInput)];
      const Compared compared =
          values_.compare(a_.index.operands()[input.a], b_.index.operands()[input.b], input.sameForm);
      pair.label = Label::source;
      pair.difference = input.sameForm && compared.shape   ? Difference::shape
                        : input.sameForm && compared.dtype ? Difference::dtype
                                                           : kindOf(compared, 1);
      pair.operandA = int32_t(input.a);
      pair.operandB = int32_t(input.b);
      pair.error = compared.relative;
      pair.ulp = compared.ulp;
      if (hidden && !source) pair.confidence *= kBrokenClosure;
    } else if (rewired && pair.countA == 1 && pair.countB == 1 &&
               !isCompiled(a_, pairing_.membersA[pair.firstA]) &&
               !isCompiled(b_, pairing_.membersB[pair.firstB])) {
      const DifferingInput& input = judgement_.inputs[size_t(rewiredInput)];
      pair.label = Label::structural;
      pair.difference = Difference::alias;
      pair.operandA = int32_t(input.a);
      pair.operandB = int32_t(input.b);
    }
  }

  /// Made inside a compiled region by a kernel that was not seen? Then the region is the maker.
  bool findUnseen(const AlignedSide& side, const std::vector<int32_t>& pairOf,
                  const std::vector<uint32_t>& members, uint32_t first, uint16_t count,
                  uint32_t operand, DifferingInput& input) {
    for (uint32_t m = first; m < first + count; ++m) {
      const Op& op = side.index.ops()[members[m]];
      if (operand < op.firstOperand || operand >= op.firstOperand + op.operandCount) continue;
      if (!matcher_.isMadeUnseen(side, members[m], operand)) return false;
      const int32_t region = pairOf[size_t(side.index.compiledRegion(members[m]))];
      input.from = DifferingInput::From::pair;
      input.maker = region;
      if (region >= 0) differsInside_[size_t(region)] = true;
      return true;
    }
    return false;
  }

  void find(int32_t index, DifferingInput& input) {
    const Pair& own = pairing_.pairs[size_t(index)];
    if (findUnseen(a_, pairing_.pairOfA, pairing_.membersA, own.firstA, own.countA, input.a, input) ||
        findUnseen(b_, pairing_.pairOfB, pairing_.membersB, own.firstB, own.countB, input.b, input)) {
      return;
    }
    const int32_t producerA = a_.producers[input.a];
    const int32_t producerB = b_.producers[input.b];
    const int32_t pairA = producerA < 0 ? -1 : pairing_.pairOfA[size_t(producerA)];
    const int32_t pairB = producerB < 0 ? -1 : pairing_.pairOfB[size_t(producerB)];
    input.maker = pairA >= 0 ? pairA : pairB;
    if (pairA < 0 && pairB < 0) {
      input.from = isOtherTensor(input) ? DifferingInput::From::rewired
                                        : DifferingInput::From::nobody;
      return;
    }
    bool lost = false;
    for (const int32_t maker : {pairA, pairB}) {
      if (maker < 0 || maker == index) continue;
      const Pair& made = pairing_.pairs[size_t(maker)];
      if (made.countA == 0 || made.countB == 0) {
        // Through ops that only one side has: either what they read differs already, or they are
        // what makes the difference.
        lost = true;
        input.from = DifferingInput::From::lost;
        input.maker = maker;
        if (!carriesDifference(maker)) judgement_.effective[size_t(maker)] = true;
      } else if (differs(maker)) {
        // Made by ops that are not partners, though both have one: another tensor is read.
        // (Views may have changed places; what they show may still be the same.)
        if (!lost && pairA >= 0 && pairB >= 0 && pairA != pairB && isPlain(pairA) &&
            isPlain(pairB) && !sameRoot(input)) {
          input.from = DifferingInput::From::rewired;
          input.maker = maker;
        } else if (!lost) {
          input.from = DifferingInput::From::pair;
          input.maker = maker;
        }
        return;
      }
    }
    if (lost) return;
    // The same makers, which agree: then another part or view of what they made is read, or
    // something in between wrote it.
    const Operand& a = a_.index.operands()[input.a];
    const Operand& b = b_.index.operands()[input.b];
    const bool otherView = input.sameForm && (a.offset != b.offset ||
                                              a_.index.type(a.type) != b_.index.type(b.type));
    input.from = pairA != pairB || otherView ? DifferingInput::From::rewired
                                             : DifferingInput::From::hidden;
  }

  bool sameRoot(const DifferingInput& input) const {
    return matcher_.rootPair(a_, pairing_.pairOfA, input.a) ==
           matcher_.rootPair(b_, pairing_.pairOfB, input.b);
  }

  bool isPlain(int32_t index) const {
    const Pair& pair = pairing_.pairs[size_t(index)];
    return pair.countA == 1 && pair.countB == 1 && pair.method != Method::coarse &&
           pair.method != Method::provenance;
  }

  /// Does a stretch that only one side has read something that differs?
  bool carriesDifference(int32_t index) {
    if (carries_.empty()) carries_.assign(pairing_.pairs.size(), Known::no);
    Known& known = carries_[size_t(index)];
    if (known != Known::no) return known == Known::differ;
    known = Known::same;  // also ends a cycle, which only a damaged trace has
    const Pair& pair = pairing_.pairs[size_t(index)];
    const bool ofA = pair.countA > 0;
    const AlignedSide& side = ofA ? a_ : b_;
    const std::vector<int32_t>& pairOf = ofA ? pairing_.pairOfA : pairing_.pairOfB;
    const std::vector<uint32_t>& members = ofA ? pairing_.membersA : pairing_.membersB;
    const uint32_t first = ofA ? pair.firstA : pair.firstB;
    for (uint32_t m = first; m < first + (ofA ? pair.countA : pair.countB); ++m) {
      const Op& op = side.index.ops()[members[m]];
      for (uint32_t k = op.firstOperand; k < op.firstOperand + op.operandCount; ++k) {
        const int32_t producer = side.producers[k];
        if (producer < 0) continue;
        const int32_t maker = pairOf[size_t(producer)];
        if (maker < 0 || maker == index) continue;
        const Pair& made = pairing_.pairs[size_t(maker)];
        const bool lonely = made.countA == 0 || made.countB == 0;
        if (lonely ? carriesDifference(maker) : differs(maker)) {
          carries_[size_t(index)] = Known::differ;
          return true;
        }
      }
    }
    return false;
  }

  /// Of two tensors that no op made: is B's the same as another one of A's, or A's as another of B's?
  /// Then the data agree, and the op reads the wrong one.
  bool isOtherTensor(const DifferingInput& input) {
    if (!sourcesKnown_) {
      sourcesKnown_ = true;
      for (const auto& [side, seen] : {std::pair(&a_, &contentsA_), std::pair(&b_, &contentsB_)}) {
        std::unordered_set<int64_t> storages;
        for (size_t k = 0; k < side->producers.size(); ++k) {
          const Operand& operand = side->index.operands()[k];
          if (!isRead(operand.role) || side->producers[k] >= 0 || !operand.fingerprint) continue;
          if (!storages.insert(operand.storage.value).second) continue;
          seen->insert(content(side->index, operand));
        }
      }
    }
    return contentsA_.contains(content(b_.index, b_.index.operands()[input.b])) ||
           contentsB_.contains(content(a_.index, a_.index.operands()[input.a]));
  }
  static uint64_t content(const SideIndex& side, const Operand& operand) {
    const Digest digest = side.reader().digest(operand.fingerprint);
    return mix(mix(digest.low, digest.high), side.type(operand.type));
  }

  /// The first op that reads a differing tensor of nobody's stands for it.
  bool isNewSource(const DifferingInput& input) {
    const StorageId storage = a_.index.operands()[input.a].storage;
    return !storage || sources_.insert(storage.value).second;
  }

  const AlignedSide& a_;
  const AlignedSide& b_;
  Pairing& pairing_;
  const OperandMatcher& matcher_;
  ValueComparer& values_;
  const Allowance& allowance_;
  Judgement judgement_;
  enum class Known : uint8_t { no, same, differ };
  std::vector<Known> outputsDiffer_, carries_;
  std::vector<bool> differsInside_;  // regions: an op inside reads something unseen that differs
  const bool mixed_;
  std::vector<int32_t> makers_;
  std::unordered_set<int64_t> sources_;
  std::unordered_set<uint64_t> contentsA_, contentsB_;  // of tensors that no op made, when first read
  bool sourcesKnown_ = false;
  std::vector<OperandMatch> matches_;
};

}  // namespace

ScalarDifference scalarDifference(const SideIndex& a, const Op& x, const SideIndex& b,
                                  const Op& y) {
  const std::vector<Scalar>& xs = a.reader().scalars(x.scalars);
  const std::vector<Scalar>& ys = b.reader().scalars(y.scalars);
  const Schema& schemaX = a.schema(x);
  const Schema& schemaY = b.schema(y);
  const auto argument = [](const Schema& schema, const Scalar& scalar) {
    const size_t at = size_t(std::max<int>(0, scalar.arg));
    return at < schema.arguments.size() ? schema.arguments[at]
                                        : "argument " + std::to_string(scalar.arg);
  };
  const bool sameVariant = a.variant(x) == b.variant(y);
  for (const Scalar& sx : xs) {
    const std::string name = argument(schemaX, sx);
    const auto other = std::find_if(ys.begin(), ys.end(), [&](const Scalar& sy) {
      return sameVariant ? sy.arg == sx.arg : argument(schemaY, sy) == name;
    });
    if (other == ys.end()) {
      if (sameVariant) return {name, sx.text, "none"};
    } else if (other->text != sx.text) {
      return {name, sx.text, other->text};
    }
  }
  if (sameVariant) {
    for (const Scalar& sy : ys) {
      const bool known = std::any_of(xs.begin(), xs.end(),
                                     [&](const Scalar& sx) { return sx.arg == sy.arg; });
      if (!known) return {argument(schemaY, sy), "none", sy.text};
    }
  }
  return {};
}

Judgement judge(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
                const OperandMatcher& matcher, ValueComparer& values, const Allowance& allowance,
                bool mixed) {
  return PairJudge(a, b, pairing, matcher, values, allowance, mixed).run();
}

}  // namespace ulpscope
