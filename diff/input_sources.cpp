#include "diff/input_sources.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "diff/confidence.h"
#include "diff/dataflow.h"
#include "diff/scalar_difference.h"

namespace ulpscope {
namespace {

bool isCompiled(const AlignedSide& side, uint32_t op) {
  return side.index.compiledRegion(op) >= 0 || side.index.ops()[op].kind == OpKind::kernel;
}

/// How often each content occurs among the tensors that no recorded op made, when first read.
class UnmadeContents {
 public:
  explicit UnmadeContents(const AlignedSide& side) {
    std::unordered_set<int64_t> storages;
    for (size_t k = 0; k < side.producers.size(); ++k) {
      const Operand& operand = side.index.operands()[k];
      if (!isRead(operand.role) || side.producers[k] >= 0 || !operand.fingerprint) continue;
      if (isNumber(operand) || !storages.insert(operand.storage.value).second) continue;
      ++counts_[key(side.index, operand)];
    }
  }
  static uint64_t key(const SideIndex& side, const Operand& operand) {
    const Digest digest = side.reader().digest(operand.fingerprint);
    return mix(mix(digest.low, digest.high), side.type(operand.type));
  }
  int count(uint64_t key) const {
    const auto found = counts_.find(key);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<uint64_t, int> counts_;
};

class InputTracer {
 public:
  InputTracer(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
              const OperandMatcher& matcher, ValueComparer& values, ResultDifferences& differences,
              Judgement& judgement, bool mixed)
      : a_(a), b_(b), pairing_(pairing), matcher_(matcher), values_(values),
        differences_(differences), judgement_(judgement), mixed_(mixed),
        differsInside_(pairing.pairs.size(), false) {}

  void run() {
    const int32_t count = int32_t(pairing_.pairs.size());
    for (int32_t p = 0; p < count; ++p) trace(p);
    for (int32_t p = 0; p < count; ++p) judgeRegion(p);
  }

 private:
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
        const bool unseen = input.from == DifferingInput::From::hidden && input.maker < 0;
        if (isFilledByKernel(index, input)) continue;
        if (unseen && differed_) continue;  // made of what differs already, as far as can be known
        if (!isNewSource(input)) continue;
        (input.from == DifferingInput::From::nobody ? source : hidden) = true;
        if (sourceInput < 0) sourceInput = int32_t(k);
      }
    }
    differed_ |= pair.label == Label::origin || pair.label == Label::structural || source || rewired;
    if (pair.label != Label::propagated && pair.label != Label::healed) return;
    if (!source && !hidden && !rewired && readsUnmade(index)) return;
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
      if (hidden && !source) pair.confidence *= confidence::kBrokenClosure;
    } else if (rewired && pair.countA == 1 && pair.countB == 1 &&
               !isCompiled(a_, pairing_.membersA[pair.firstA]) &&
               !isCompiled(b_, pairing_.membersB[pair.firstB])) {
      const DifferingInput& input = judgement_.inputs[size_t(rewiredInput)];
      // A compiler that returns the wrong view changes a value, not the program.
      pair.label = mixed_ ? Label::origin : Label::structural;
      pair.difference = Difference::alias;
      pair.operandA = int32_t(input.a);
      pair.operandB = int32_t(input.b);
    }
  }

  /// Does a kernel write the memory of this input itself, part by part, before it reads it? Then what
  /// was there before it is not what it computes with.
  bool isFilledByKernel(int32_t index, const DifferingInput& input) const {
    const Pair& pair = pairing_.pairs[size_t(index)];
    const StorageId storage = a_.index.operands()[input.a].storage;
    for (uint32_t m = pair.firstA; m < pair.firstA + pair.countA; ++m) {
      const Op& op = a_.index.ops()[pairing_.membersA[m]];
      if (op.kind != OpKind::kernel) continue;
      for (const Operand& operand : a_.index.operandsOf(op)) {
        if (operand.role != Role::input && operand.role != Role::before &&
            operand.storage == storage) {
          return true;
        }
      }
    }
    return false;
  }

  /// Does all that differs among what it reads come from memory that nobody had written? An op that
  /// writes another part of it, or shows it in another form, leaves it at that; one that computes with
  /// it is where the runs part.
  bool readsUnmade(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    if (pair.label != Label::propagated) return false;
    bool writes = true;
    int32_t first = -1;
    const std::span<const DifferingInput> inputs = judgement_.of(size_t(index));
    for (const DifferingInput& input : inputs) {
      if (input.from != DifferingInput::From::pair || input.maker < 0 || input.derived ||
          !judgement_.unmade[size_t(input.maker)]) {
        return false;
      }
      if (a_.index.operands()[input.a].role == Role::input) {
        writes = false;
        if (first < 0) first = int32_t(&input - inputs.data());
      }
    }
    if (inputs.empty()) return false;
    const auto moves = [](const AlignedSide& side, std::span<const uint32_t> members) {
      return std::all_of(members.begin(), members.end(), [&](uint32_t member) {
        return side.index.facts(side.index.ops()[member]).movesData;
      });
    };
    pair.difference = Difference::unknown;
    if (writes || moves(a_, {pairing_.membersA.data() + pair.firstA, pair.countA})) {
      pair.label = Label::opaque;
      judgement_.unmade[size_t(index)] = true;
    } else {
      pair.label = Label::source;
      pair.operandA = int32_t(inputs[size_t(first)].a);
      pair.operandB = int32_t(inputs[size_t(first)].b);
    }
    return true;
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
      if (isComputed(a_.index.operands()[input.a]) && isComputed(b_.index.operands()[input.b])) {
        input.from = DifferingInput::From::hidden;
        return;
      }
      input.from = isOtherTensor(input) ? DifferingInput::From::rewired
                                        : DifferingInput::From::nobody;
      return;
    }
    bool lost = false;
    for (const int32_t maker : {pairA, pairB}) {
      if (maker < 0 || maker == index) continue;
      if (differences_.isLonely(maker)) {
        // Through ops that only one side has: either what they read differs already, or they are
        // what makes the difference.
        lost = true;
        input.from = DifferingInput::From::lost;
        input.maker = maker;
        if (!differences_.carried(maker)) judgement_.effective[size_t(maker)] = true;
      } else if (differences_.differ(maker)) {
        // Made by ops that are not partners, though both have one: another tensor is read.
        // (Views may have changed places; what they show may still be the same.)
        if (!lost && pairA != pairB && isPlain(pairA) && isPlain(pairB) && !sameRoot(input)) {
          input.from = DifferingInput::From::rewired;
          input.maker = maker;
        } else if (!lost) {
          input.from = DifferingInput::From::pair;
          input.maker = maker;
        }
        return;
      }
    }
    if (lost || findPart(index, input)) return;
    // The same makers, which agree: then another part or view of what they made is read, or
    // something in between wrote it.
    const Operand& a = a_.index.operands()[input.a];
    const Operand& b = b_.index.operands()[input.b];
    const bool otherView = input.sameForm && (a.offset != b.offset ||
                                              a_.index.type(a.type) != b_.index.type(b.type));
    input.from = pairA != pairB || otherView ? DifferingInput::From::rewired
                                             : DifferingInput::From::hidden;
  }

  /// The newest writers agree, but wrote only a part of what is read: did another part come
  /// differing?
  bool findPart(int32_t index, DifferingInput& input) {
    const auto look = [&](const AlignedSide& side, const std::vector<int32_t>& pairOf,
                          uint32_t operand) {
      for (const Producers::Part& part : side.producers.others(operand)) {
        const int32_t maker = pairOf[size_t(part.op)];
        if (maker < 0 || maker == index || !differences_.atHand(maker)) continue;
        input.from = differences_.isLonely(maker) ? DifferingInput::From::lost
                                                  : DifferingInput::From::pair;
        input.maker = maker;
        return true;
      }
      return false;
    };
    return look(a_, pairing_.pairOfA, input.a) || look(b_, pairing_.pairOfB, input.b);
  }

  /// Part of the autograd graph and no leaf of it: an op made it, though none that was recorded
  /// (autograd's own copies).
  static bool isComputed(const Operand& operand) {
    return (operand.flags & kRequiresGrad) && !(operand.flags & kParameter);
  }

  bool sameRoot(const DifferingInput& input) const {
    return matcher_.rootPair(a_, pairing_.pairOfA, input.a) ==
           matcher_.rootPair(b_, pairing_.pairOfB, input.b);
  }

  bool isPlain(int32_t index) const {
    if (index < 0) return true;  // data, a parameter
    const Pair& pair = pairing_.pairs[size_t(index)];
    return pair.countA == 1 && pair.countB == 1 && pair.method != Method::coarse &&
           pair.method != Method::provenance;
  }

  /// Of two tensors that no op made: is B's another one of A's, or A's another of B's? Then the data
  /// agree, and the op reads the wrong one. Equal contents (biases that are all zero) must occur
  /// as often on both sides, or one of them is what changed.
  bool isOtherTensor(const DifferingInput& input) {
    if (contents_.empty()) {
      contents_.emplace_back(a_);
      contents_.emplace_back(b_);
    }
    const auto inBoth = [&](uint64_t key) {
      const int inA = contents_[0].count(key);
      return inA > 0 && inA == contents_[1].count(key);
    };
    return inBoth(UnmadeContents::key(b_.index, b_.index.operands()[input.b])) ||
           inBoth(UnmadeContents::key(a_.index, a_.index.operands()[input.a]));
  }

  /// The first op that reads a differing tensor of nobody's stands for it.
  bool isNewSource(const DifferingInput& input) {
    const StorageId storage = a_.index.operands()[input.a].storage;
    return !storage || sources_.insert(storage.value).second;
  }

  /// A compiled region stands for what its kernels and extern ops do not show by themselves.
  void judgeRegion(int32_t index) {
    Pair& pair = pairing_.pairs[size_t(index)];
    bool kernels = false, carried = false, started = false, region = false;
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
          carried |= label == Label::propagated;
          started |= label == Label::origin || label == Label::source || label == Label::structural;
        }
      }
    };
    look(a_, pairing_.pairOfA, {pairing_.membersA.data() + pair.firstA, pair.countA});
    look(b_, pairing_.pairOfB, {pairing_.membersB.data() + pair.firstB, pair.countB});
    if (!region) return;
    if (started || (carried && kernels)) {
      // What it returns is made by calls that are judged themselves; only where those agree, or only
      // carry on what kernels that were not seen began, can the region be what differs.
      if (pair.label == Label::origin) pair.label = Label::propagated;
    } else if (kernels) {
      return;
    } else if (differsInside_[size_t(index)] &&
               (pair.label == Label::identical || pair.label == Label::opaque ||
                pair.label == Label::healed || pair.label == Label::within)) {
      pair.label = pair.label == Label::healed ? Label::propagated : Label::origin;
      pair.difference = Difference::numeric;
    }
  }

  const AlignedSide& a_;
  const AlignedSide& b_;
  Pairing& pairing_;
  const OperandMatcher& matcher_;
  ValueComparer& values_;
  ResultDifferences& differences_;
  Judgement& judgement_;
  const bool mixed_;
  std::vector<bool> differsInside_;  // regions: an op inside reads something unseen that differs
  std::unordered_set<int64_t> sources_;  // storages of A whose first reader is known
  bool differed_ = false;  // something before this pair differs
  std::vector<UnmadeContents> contents_; // of A and of B; made at first use
};

}  // namespace

void traceInputs(const AlignedSide& a, const AlignedSide& b, Pairing& pairing,
                 const OperandMatcher& matcher, ValueComparer& values,
                 ResultDifferences& differences, Judgement& judgement, bool mixed) {
  InputTracer(a, b, pairing, matcher, values, differences, judgement, mixed).run();
}

}  // namespace ulpscope
