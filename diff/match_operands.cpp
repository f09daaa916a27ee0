#include "diff/match_operands.h"

#include <algorithm>

#include "diff/dataflow.h"
#include "diff/scalar_difference.h"

namespace ulpscope {
namespace {

/// By op: its result is read outside its own pair, or is never read.
std::vector<bool> leavers(const AlignedSide& side, const std::vector<int32_t>& pairOf) {
  std::vector<bool> leaves(side.index.size(), false), consumed(side.index.size(), false);
  for (size_t i = 0; i < side.index.size(); ++i) {
    const Op& op = side.index.ops()[i];
    for (uint32_t k = 0; k < op.operandCount; ++k) {
      const int32_t producer = side.producers[op.firstOperand + k];
      if (producer < 0) continue;
      consumed[size_t(producer)] = true;
      if (pairOf[size_t(producer)] != pairOf[i]) leaves[size_t(producer)] = true;
    }
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!consumed[i]) leaves[i] = true;
  }
  return leaves;
}

bool sameType(const SideIndex& a, const Operand& x, const SideIndex& b, const Operand& y) {
  return a.type(x.type) == b.type(y.type);
}

bool sameCount(const SideIndex& a, const Operand& x, const SideIndex& b, const Operand& y) {
  return elementCount(a.reader().type(x.type)) == elementCount(b.reader().type(y.type));
}

bool contains(const std::vector<uint32_t>& list, uint32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Leaves out what a compiled region only passes on: a buffer that an op inside it wrote is judged
/// with that op.
void dropInnerResults(const AlignedSide& side, std::span<const uint32_t> members,
                      std::vector<uint32_t>& writes) {
  for (const uint32_t member : members) {
    const Op& region = side.index.ops()[member];
    if (region.kind != OpKind::compiled) continue;
    for (size_t i = size_t(member) + 1; i < side.index.size(); ++i) {
      if (side.index.compiledRegion(i) != int32_t(member)) break;
      for (const Operand& inner : side.index.operandsOf(side.index.ops()[i])) {
        if (!isWritten(inner.role)) continue;
        std::erase_if(writes, [&](uint32_t k) {
          const Operand& result = side.index.operands()[k];
          return k >= region.firstOperand && k < region.firstOperand + region.operandCount &&
                 result.storage == inner.storage && result.offset == inner.offset &&
                 result.fingerprint == inner.fingerprint;
        });
      }
    }
  }
}

}  // namespace

bool isMeaningful(const SideIndex& side, const Op& op, const Operand& operand) {
  if (operand.flags & kScratch) return false;
  if (operand.skip == SkipReason::uninitialised) return false;
  const OpFacts& facts = side.facts(op);
  // Memory that a backward gets from its forward, opaque and only in part written.
  if (facts.workspace && side.reader().type(operand.type).dtype == DType::UInt8) return false;
  if (operand.role == Role::before) {
    if (facts.overwrites && operand.arg == 0) return false;
    return !isOutArgument(side.schema(op), operand.arg);
  }
  if (isWritten(operand.role) && facts.allocates) return false;
  return true;
}

OperandMatcher::OperandMatcher(const AlignedSide& a, const AlignedSide& b, const Pairing& pairing,
                               ValueComparer& values)
    : a_(a), b_(b), pairing_(pairing), values_(values),
      leavesA_(leavers(a, pairing.pairOfA)), leavesB_(leavers(b, pairing.pairOfB)) {}

void OperandMatcher::match(int32_t pair, std::vector<OperandMatch>& out,
                           std::vector<int32_t>* makers) const {
  if (isSingle(pair)) {
    matchOps(a_.index.ops()[members(pair, false)[0]], b_.index.ops()[members(pair, true)[0]], out);
    return;
  }
  matchGroupReads(pair, out, makers);
  matchGroupResults(pair, out);
}

void OperandMatcher::matchResults(int32_t pair, std::vector<OperandMatch>& out) const {
  if (!isSingle(pair)) {
    matchGroupResults(pair, out);
    return;
  }
  matchOps(a_.index.ops()[members(pair, false)[0]], b_.index.ops()[members(pair, true)[0]], out);
  std::erase_if(out, [](const OperandMatch& match) { return match.read; });
}

bool OperandMatcher::isSingle(int32_t pair) const {
  const Pair& p = pairing_.pairs[size_t(pair)];
  if (p.countA != 1 || p.countB != 1) return false;
  const Op& a = a_.index.ops()[members(pair, false)[0]];
  const Op& b = b_.index.ops()[members(pair, true)[0]];
  return a.kind == b.kind && a_.index.name(a) == b_.index.name(b);
}

void OperandMatcher::matchOps(const Op& a, const Op& b, std::vector<OperandMatch>& out) const {
  const std::span<const Operand> as = a_.index.operandsOf(a);
  const std::span<const Operand> bs = b_.index.operandsOf(b);
  if (a_.index.variant(a) == b_.index.variant(b)) {
    for (const bool read : {true, false}) {
      size_t next = 0;  // both lists are in the same order, so the search is short
      for (size_t i = 0; i < as.size(); ++i) {
        if (isRead(as[i].role) != read || !isMeaningful(a_.index, a, as[i])) continue;
        for (size_t n = 0; n < bs.size(); ++n) {
          const size_t j = (next + n) % bs.size();
          if (bs[j].role != as[i].role || bs[j].arg != as[i].arg || bs[j].item != as[i].item) {
            continue;
          }
          next = j + 1;
          if (isMeaningful(b_.index, b, bs[j])) {
            out.push_back({a.firstOperand + uint32_t(i), b.firstOperand + uint32_t(j), read});
          }
          break;
        }
      }
    }
    // x + y written y + x: the same op, if the values say so.
    if (a_.index.facts(a).commutative && out.size() >= 2 && out[0].read && out[1].read &&
        !values_.equalDigest(a_.index.operands()[out[0].a], b_.index.operands()[out[0].b]) &&
        values_.equalDigest(a_.index.operands()[out[0].a], b_.index.operands()[out[1].b]) &&
        values_.equalDigest(a_.index.operands()[out[1].a], b_.index.operands()[out[0].b])) {
      std::swap(out[0].b, out[1].b);
    }
    return;
  }
  // Two variants of one operator: arguments keep their order, results too; an in-place op shows its
  // result both as written argument and as return.
  const auto list = [](const SideIndex& side, const Op& op, bool read) {
    std::vector<uint32_t> result;
    const std::span<const Operand> own = side.operandsOf(op);
    for (size_t i = 0; i < own.size(); ++i) {
      if (isRead(own[i].role) != read || !isMeaningful(side, op, own[i])) continue;
      const bool again = !read && std::any_of(result.begin(), result.end(), [&](uint32_t k) {
        const Operand& other = own[k - op.firstOperand];
        return other.storage == own[i].storage && other.offset == own[i].offset &&
               other.type == own[i].type;
      });
      if (!again) result.push_back(op.firstOperand + uint32_t(i));
    }
    std::stable_sort(result.begin(), result.end(), [&](uint32_t x, uint32_t y) {
      const Operand& ox = own[x - op.firstOperand];
      const Operand& oy = own[y - op.firstOperand];
      return ox.arg != oy.arg ? ox.arg < oy.arg : ox.item < oy.item;
    });
    return result;
  };
  for (const bool read : {true, false}) {
    const std::vector<uint32_t> xs = list(a_.index, a, read), ys = list(b_.index, b, read);
    for (size_t k = 0; k < std::min(xs.size(), ys.size()); ++k) {
      out.push_back({xs[k], ys[k], read, true, xs.size() != ys.size()});
    }
  }
}

int32_t OperandMatcher::tiedOperand(const AlignedSide& eager, const Op& op, int output) const {
  const std::span<const Operand> own = eager.index.operandsOf(op);
  const int returns = int(eager.index.schema(op).returns.size());
  int written = returns;
  int lastArgument = -1;
  int32_t fallback = -1;
  for (size_t k = 0; k < own.size(); ++k) {
    if (!isWritten(own[k].role)) continue;
    if (own[k].role == Role::output && own[k].arg == output) return int32_t(op.firstOperand + k);
    if (own[k].role == Role::after) {
      if (own[k].arg != lastArgument && lastArgument >= 0) ++written;
      lastArgument = own[k].arg;
      if (written == output) return int32_t(op.firstOperand + k);
    }
    if (fallback < 0) fallback = int32_t(op.firstOperand + k);
  }
  // An in-place op whose return the recorder did not repeat.
  return output == 0 ? fallback : -1;
}

void OperandMatcher::matchTies(const AlignedSide& kernels, bool kernelsAreB,
                               std::span<const uint32_t> members, std::span<const uint32_t> others,
                               std::vector<OperandMatch>& out, std::vector<uint32_t>& used) const {
  const AlignedSide& eager = kernelsAreB ? a_ : b_;
  const auto& sources = kernelsAreB ? pairing_.sourcesB : pairing_.sourcesA;
  for (const uint32_t member : members) {
    const Op& kernel = kernels.index.ops()[member];
    if (kernel.kind != OpKind::kernel) continue;
    const Provenance& from = kernels.index.reader().provenance(kernel.provenance);
    for (const OutputTie& tie : from.ties) {
      if (tie.source < 0 || size_t(tie.source) >= from.sources.size()) continue;
      const std::span<const Operand> own = kernels.index.operandsOf(kernel);
      const auto buffer = std::find_if(own.begin(), own.end(), [&](const Operand& operand) {
        return isWritten(operand.role) && operand.arg == tie.arg;
      });
      if (buffer == own.end() || !isMeaningful(kernels.index, kernel, *buffer)) continue;
      const uint32_t bufferIndex = kernel.firstOperand + uint32_t(buffer - own.begin());
      // The eager op: aligned with this source, or with another node of the same original op.
      const SourceOp& source = from.sources[size_t(tie.source)];
      int32_t op = -1;
      const auto exact = sources.find(Pairing::sourceKey(member, tie.source));
      if (exact != sources.end()) {
        op = int32_t(exact->second);
      } else {
        const uint64_t name = kernels.index.name(source);
        const uint64_t line = lineOf(source.stack);
        for (const uint32_t other : others) {  // the last one: later nodes hold the op's result
          if (eager.index.name(eager.index.ops()[other]) == name &&
              (line == 0 || eager.index.line(other) == 0 || eager.index.line(other) == line)) {
            op = int32_t(other);
          }
        }
      }
      if (op < 0) continue;
      int32_t value = tiedOperand(eager, eager.index.ops()[size_t(op)], tie.output);
      if (value < 0) continue;
      const uint32_t eagerIndex = uint32_t(value);
      if (!sameCount(eager.index, eager.index.operands()[eagerIndex], kernels.index, *buffer)) {
        continue;
      }
      used.push_back(bufferIndex);
      if (kernelsAreB) out.push_back({eagerIndex, bufferIndex, false, false, tie.confidence < 0.5f});
      else out.push_back({bufferIndex, eagerIndex, false, false, tie.confidence < 0.5f});
    }
  }
}

int32_t OperandMatcher::rootPair(const AlignedSide& side, const std::vector<int32_t>& pairOf,
                                 uint32_t operand) const {
  int32_t producer = side.producers[operand];
  for (int depth = 0; producer >= 0 && depth < 32; ++depth) {
    const Op& op = side.index.ops()[size_t(producer)];
    if (op.kind != OpKind::op || !side.index.facts(op).movesData) break;
    int32_t before = -1;
    bool reads = false;
    for (uint32_t k = op.firstOperand; k < op.firstOperand + op.operandCount && !reads; ++k) {
      if (!isRead(side.index.operands()[k].role)) continue;
      reads = true;
      before = side.producers[k];
    }
    if (!reads) break;
    producer = before;
  }
  return producer < 0 ? -1 : pairOf[size_t(producer)];
}

bool OperandMatcher::isMadeUnseen(const AlignedSide& side, uint32_t op, uint32_t operand) const {
  const int32_t region = side.index.compiledRegion(op);
  if (region < 0 || region == int32_t(op)) return false;
  if (side.producers[operand] > region) return false;  // made inside, by an op that was seen
  const StorageId storage = side.index.operands()[operand].storage;
  for (const Operand& input : side.index.operandsOf(side.index.ops()[size_t(region)])) {
    if (isRead(input.role) && input.storage == storage) return false;
  }
  return true;
}

/// What a kernel reads is a buffer that another kernel or op wrote: it stands for the same value of
/// the other side as it did there. Takes what it settles out of `open`.
void OperandMatcher::matchKernelReads(int32_t pair, bool ofB, std::vector<uint32_t>& open,
                                      std::vector<OperandMatch>& out,
                                      std::vector<int32_t>* makers) const {
  const AlignedSide& side = ofB ? b_ : a_;
  const std::vector<int32_t>& pairOf = ofB ? pairing_.pairOfB : pairing_.pairOfA;
  const std::span<const uint32_t> own = members(pair, ofB);
  const bool kernels = std::any_of(own.begin(), own.end(), [&](uint32_t member) {
    return side.index.ops()[member].kind == OpKind::kernel;
  });
  if (!kernels) return;
  std::erase_if(open, [&](uint32_t k) {
    const Operand& read = side.index.operands()[k];
    const int32_t producer = side.producers[k];
    if (producer < 0) return false;
    const int32_t maker = pairOf[size_t(producer)];
    if (maker < 0 || maker == pair) return true;
    const Pair& made = pairing_.pairs[size_t(maker)];
    if (made.countA == 0 || made.countB == 0) return false;
    std::vector<OperandMatch> results;
    matchResults(maker, results);
    bool sameBuffer = false;
    for (const OperandMatch& result : results) {
      const Operand& written = side.index.operands()[ofB ? result.b : result.a];
      if (written.storage != read.storage) continue;
      sameBuffer = true;
      if (written.offset != read.offset || !sameCount(side.index, written, side.index, read)) continue;
      OperandMatch match{result.a, result.b, true, false, result.weak, maker};
      (ofB ? match.b : match.a) = k;
      out.push_back(match);
      return true;
    }
    // Another view of a buffer whose value is known: as the buffer, so the view.
    if (makers != nullptr && sameBuffer) makers->push_back(maker);
    return true;
  });
}

/// The operands of a pair's members on one side that cross its border.
std::vector<uint32_t> OperandMatcher::crossing(int32_t pair, bool ofB, bool read) const {
  const AlignedSide& side = ofB ? b_ : a_;
  const std::vector<int32_t>& pairOf = ofB ? pairing_.pairOfB : pairing_.pairOfA;
  std::vector<uint32_t> result;
  for (const uint32_t member : members(pair, ofB)) {
    const Op& op = side.index.ops()[member];
    for (uint32_t k = op.firstOperand; k < op.firstOperand + op.operandCount; ++k) {
      const Operand& operand = side.index.operands()[k];
      if (isRead(operand.role) != read || !isMeaningful(side.index, op, operand)) continue;
      if (read) {
        if (isNumber(operand)) continue;  // a scalar of the program
        const int32_t producer = side.producers[k];
        if (producer >= 0 && pairOf[size_t(producer)] == pair) continue;
      } else if (!(ofB ? leavesB_ : leavesA_)[member]) {
        continue;
      }
      result.push_back(k);
    }
  }
  return result;
}

std::span<const uint32_t> OperandMatcher::members(int32_t pair, bool ofB) const {
  const Pair& p = pairing_.pairs[size_t(pair)];
  if (ofB) return {pairing_.membersB.data() + p.firstB, p.countB};
  return {pairing_.membersA.data() + p.firstA, p.countA};
}

void OperandMatcher::matchGroupReads(int32_t pair, std::vector<OperandMatch>& out,
                                     std::vector<int32_t>* makers) const {
  // Reads: the same bits are the same operand; then what partners made; then what nobody made.
  const std::vector<uint32_t> readsA = crossing(pair, false, true);
  const std::vector<uint32_t> readsB = crossing(pair, true, true);
  std::vector<uint32_t> usedA, openB;
  for (const uint32_t y : readsB) {
    const auto found = std::find_if(readsA.begin(), readsA.end(), [&](uint32_t x) {
      return values_.equalDigest(a_.index.operands()[x], b_.index.operands()[y]);
    });
    if (found == readsA.end()) {
      openB.push_back(y);
      continue;
    }
    out.push_back({*found, y, true, false});
    usedA.push_back(*found);
  }
  const auto pairOfProducer = [](const AlignedSide& side, const std::vector<int32_t>& pairOf,
                                 uint32_t operand) {
    const int32_t producer = side.producers[operand];
    return producer < 0 ? -1 : pairOf[size_t(producer)];
  };
  matchKernelReads(pair, true, openB, out, makers);
  std::vector<uint32_t> openA;
  for (const uint32_t x : readsA) {
    if (!contains(usedA, x)) openA.push_back(x);
  }
  const size_t before = openA.size();
  matchKernelReads(pair, false, openA, out, makers);
  if (openA.size() != before) openB.clear();  // A's kernel was the one to ask
  for (const uint32_t y : openB) {
    const int32_t made = pairOfProducer(b_, pairing_.pairOfB, y);
    int32_t best = -1;
    bool bestType = false;
    for (const uint32_t x : readsA) {
      if (contains(usedA, x)) continue;
      if (pairOfProducer(a_, pairing_.pairOfA, x) != made) continue;
      if (!sameCount(a_.index, a_.index.operands()[x], b_.index, b_.index.operands()[y])) continue;
      const bool type = sameType(a_.index, a_.index.operands()[x], b_.index, b_.index.operands()[y]);
      if (best < 0 || (type && !bestType)) {
        best = int32_t(x);
        bestType = type;
      }
    }
    // Of two tensors that nobody made only the type tells that they might be the same.
    if (best >= 0 && made < 0 && !bestType) best = -1;
    if (best < 0) {
      const int32_t root = rootPair(b_, pairing_.pairOfB, y);
      if (makers != nullptr && root >= 0 && root != pair) makers->push_back(root);
      continue;
    }
    usedA.push_back(uint32_t(best));
    out.push_back({uint32_t(best), y, true, false, made < 0});
  }
  if (makers != nullptr) {
    std::sort(makers->begin(), makers->end());
    makers->erase(std::unique(makers->begin(), makers->end()), makers->end());
  }

}

void OperandMatcher::matchGroupResults(int32_t pair, std::vector<OperandMatch>& out) const {
  // What the kernels' ties say; then the same bits; then kind and order.
  const std::span<const uint32_t> membersA = members(pair, false), membersB = members(pair, true);
  std::vector<uint32_t> used;
  const size_t reads = out.size();
  matchTies(b_, true, membersB, membersA, out, used);
  matchTies(a_, false, membersA, membersB, out, used);
  if (out.size() > reads) return;
  std::vector<uint32_t> writesA = crossing(pair, false, false);
  std::vector<uint32_t> writesB = crossing(pair, true, false);
  dropInnerResults(a_, membersA, writesA);
  dropInnerResults(b_, membersB, writesB);
  std::vector<uint32_t> rest;
  for (const uint32_t y : writesB) {
    const auto found = std::find_if(writesA.begin(), writesA.end(), [&](uint32_t x) {
      return sameCount(a_.index, a_.index.operands()[x], b_.index, b_.index.operands()[y]) &&
             values_.equalDigest(a_.index.operands()[x], b_.index.operands()[y]);
    });
    if (found == writesA.end()) {
      rest.push_back(y);
      continue;
    }
    out.push_back({*found, y, false, false});
    writesA.erase(found);
  }
  for (const uint32_t y : rest) {
    const auto found = std::find_if(writesA.begin(), writesA.end(), [&](uint32_t x) {
      return sameType(a_.index, a_.index.operands()[x], b_.index, b_.index.operands()[y]);
    });
    if (found == writesA.end()) continue;
    out.push_back({*found, y, false, false, true});
    writesA.erase(found);
  }
}

}  // namespace ulpscope
