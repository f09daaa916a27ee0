#include <algorithm>

#include "diff/context.h"
#include "diff/diff.h"
#include "diff/ranks/replicas.h"

namespace ulpscope {
namespace {

bool sameTypes(const RankRun& a, const Op& x, const RankRun& b, const Op& y) {
  if (x.operandCount != y.operandCount) return false;
  for (uint32_t i = 0; i < x.operandCount; ++i) {
    if (a.index->type(a.operand(x.firstOperand + i).type) !=
        b.index->type(b.operand(y.firstOperand + i).type)) {
      return false;
    }
  }
  return true;
}

bool computes(const RankRun& run, const Op& op) {
  const OpFacts& facts = run.index->facts(op);
  return op.kind != OpKind::collective && op.kind != OpKind::wrapper &&
         op.kind != OpKind::compiled && !facts.movesData && !facts.allocates && !facts.random;
}

/// The ops that a rank's own program runs, in order.
std::vector<uint32_t> program(const RankRun& run) {
  std::vector<uint32_t> ops;
  for (uint32_t at = 0; at < run.side.ops.ops.size(); ++at) {
    if (!run.inBackend[at]) ops.push_back(at);
  }
  return ops;
}

void compareScalars(const RankRun& a, uint32_t x, const RankRun& b, uint32_t y,
                    std::vector<RankStructure>& out) {
  if (!computes(a, a.op(x)) || !sameTypes(a, a.op(x), b, b.op(y))) return;
  RankStructure found;
  found.scalar = scalarDifference(*a.index, a.op(x), *b.index, b.op(y));
  if (found.scalar.argument.empty() || found.scalar.argument == "rank" ||
      found.scalar.argument == "generator") {
    return;
  }
  found.position = found.mine = x;
  found.theirs = y;
  out.push_back(std::move(found));
}

}  // namespace

std::vector<RankStructure> structuralDifferences(const RankRun& a, const std::vector<bool>& mine,
                                                 const RankRun& b, const std::vector<bool>& theirs) {
  std::vector<RankStructure> out;
  const std::vector<uint32_t> xs = program(a), ys = program(b);
  const bool alike = xs.size() == ys.size() &&
                     std::equal(xs.begin(), xs.end(), ys.begin(), [&](uint32_t x, uint32_t y) {
                       return a.index->variant(a.op(x)) == b.index->variant(b.op(y)) &&
                              a.op(x).phase == b.op(y).phase;
                     });
  if (alike) {  // as nearly always: one program on all ranks
    for (size_t i = 0; i < xs.size(); ++i) {
      if (mine[xs[i]] && theirs[ys[i]]) compareScalars(a, xs[i], b, ys[i], out);
    }
    return out;
  }
  const DiffResult aligned = diff(a.side.path, b.side.path, {});
  int64_t last = 0;
  for (const Pair& pair : aligned.pairs) {
    const auto inA = aligned.opsA(pair), inB = aligned.opsB(pair);
    if (!inA.empty()) last = inA.front();
    if (inA.size() == 1 && inB.size() == 1) {
      if (mine[inA[0]] && theirs[inB[0]] && !a.inBackend[inA[0]]) {
        compareScalars(a, inA[0], b, inB[0], out);
      }
      continue;
    }
    if (!inA.empty() && !inB.empty()) continue;
    const RankRun& has = inA.empty() ? b : a;
    const std::vector<bool>& counts = inA.empty() ? theirs : mine;
    for (const uint32_t op : inA.empty() ? inB : inA) {
      if (!counts[op] || has.inBackend[op] || !computes(has, has.op(op))) continue;
      RankStructure found;
      found.position = inA.empty() ? last : op;
      found.extra = inA.empty();
      (inA.empty() ? found.theirs : found.mine) = op;
      found.name = has.index->schema(has.op(op)).name;
      out.push_back(std::move(found));
      break;  // the stretch is told by its first op
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const RankStructure& x, const RankStructure& y) {
    return x.position < y.position;
  });
  return out;
}

}  // namespace ulpscope
