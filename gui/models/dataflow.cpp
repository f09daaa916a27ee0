#include "gui/models/dataflow.h"

#include <algorithm>
#include <unordered_set>

#include "gui/models/format.h"

namespace ulpscope::gui {
namespace {


Equality worse(Equality x, Equality y) {
  if (x == Equality::unequal || y == Equality::unequal) return Equality::unequal;
  return x == Equality::equal && y == Equality::equal ? Equality::equal : Equality::unknown;
}

class Edges {
 public:
  explicit Edges(const Document& document) : document_(document) {}

  /// Adds one value of the edge to the neighbour `pair`; `key` keeps apart values without producer.
  void add(uint32_t pair, int64_t key, const OperandMatch& match, const Side& side, const Op& op,
           const Operand& operand, SideName which) {
    auto at = std::find_if(found_.begin(), found_.end(), [&](const Edge& edge) {
      return edge.neighbour.pair == pair && (pair != kNoPair || edge.key == key);
    });
    if (at == found_.end()) {
      FlowNeighbour neighbour;
      neighbour.pair = pair;
      const bool parameter = operand.flags & kParameter;
      neighbour.title = pair == kNoPair ? QString(parameter ? "parameter" : "data")
                                        : pairTitle(document_, pair);
      neighbour.equality = Equality::equal;
      found_.push_back({neighbour, key, {}});
      at = found_.end() - 1;
    }
    (which == SideName::a ? at->neighbour.onA : at->neighbour.onB) = true;
    const auto equality = document_.single ? Equality::equal : match.equality;
    at->neighbour.equality = worse(at->neighbour.equality, equality);
    if (std::find(at->seen.begin(), at->seen.end(), &match) != at->seen.end()) return;
    at->seen.push_back(&match);
    if (at->seen.size() > 4) return;
    if (!at->neighbour.values.isEmpty()) at->neighbour.values += "\n";
    at->neighbour.values += at->seen.size() == 4
                                ? QString(QChar(0x2026))
                                : operandName(side, op, operand) + "  " +
                                      typeText(side.reader->type(operand.type));
  }

  std::vector<FlowNeighbour> take() {
    std::vector<FlowNeighbour> out;
    for (Edge& edge : found_) out.push_back(std::move(edge.neighbour));
    return out;
  }

 private:
  struct Edge {
    FlowNeighbour neighbour;
    int64_t key;
    std::vector<const OperandMatch*> seen;
  };
  const Document& document_;
  std::vector<Edge> found_;
};

/// Calls visit(match, which, op, operand) for each input on each side it exists on.
template <class Visit>
void forEachInput(const Document& document, const std::vector<OperandMatch>& matches, Visit visit) {
  for (const OperandMatch& match : matches) {
    if (match.written) continue;
    for (SideName which : {SideName::a, SideName::b}) {
      const int64_t op = which == SideName::a ? match.opA : match.opB;
      const int64_t operand = which == SideName::a ? match.a : match.b;
      if (op < 0 || operand < 0) continue;
      const Side& side = document.side(which);
      visit(match, which, side.ops.ops[size_t(op)], side.ops.operands[size_t(operand)]);
    }
  }
}

}  // namespace

Flow flowAround(const Document& document, uint32_t pair) {
  Flow flow;
  if (pair >= document.pairs().size()) return flow;
  flow.center = pair;
  const Pair& center = document.pairs()[pair];

  const auto inputs = matchOperands(document, center);
  Edges producers(document);
  forEachInput(document, inputs,
               [&](const OperandMatch& match, SideName which, const Op& op, const Operand& operand) {
                 const uint32_t from = document.pairOf(which, operand.writer);
                 if (from == pair) return;  // inside the group
                 producers.add(from, &match - inputs.data(), match, document.side(which), op,
                               operand, which);
               });
  flow.producers = producers.take();
  std::stable_sort(flow.producers.begin(), flow.producers.end(), [](const auto& x, const auto& y) {
    return (x.equality == Equality::unequal) > (y.equality == Equality::unequal);
  });

  std::vector<uint32_t> readers;
  for (SideName which : {SideName::a, SideName::b})
    for (uint32_t op : document.members(center, which))
      for (uint32_t consumer : document.consumersOf(which, op)) {
        const uint32_t reader = document.index[size_t(which)].pairOfOp[consumer];
        if (reader != kNoPair && reader != pair) readers.push_back(reader);
      }
  std::sort(readers.begin(), readers.end());
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  if (readers.size() > kFlowLimit) {
    flow.moreConsumers = readers.size() - kFlowLimit;
    readers.resize(kFlowLimit);
  }
  for (uint32_t reader : readers) {
    const auto matches = matchOperands(document, document.pairs()[reader]);
    Edges edges(document);
    forEachInput(document, matches,
                 [&](const OperandMatch& match, SideName which, const Op& op,
                     const Operand& operand) {
                   if (document.pairOf(which, operand.writer) == pair)
                     edges.add(reader, 0, match, document.side(which), op, operand, which);
                 });
    for (FlowNeighbour& neighbour : edges.take()) flow.consumers.push_back(std::move(neighbour));
  }
  return flow;
}

std::vector<uint32_t> walkToOrigin(const Document& document, uint32_t pair) {
  std::vector<uint32_t> way;
  std::unordered_set<uint32_t> seen{pair};
  constexpr size_t kLongestWay = 100'000;
  while (pair < document.pairs().size() && way.size() < kLongestWay) {
    const Label label = document.pairs()[pair].label;
    if (label != Label::propagated && label != Label::healed && label != Label::opaque) break;
    const auto matches = matchOperands(document, document.pairs()[pair]);
    // Of several unequal inputs the one written last is followed: it is nearest to the reader.
    uint32_t next = kNoPair;
    forEachInput(document, matches,
                 [&](const OperandMatch& match, SideName which, const Op&, const Operand& operand) {
                   if (match.equality != Equality::unequal) return;
                   const uint32_t from = document.pairOf(which, operand.writer);
                   if (from == kNoPair || seen.contains(from)) return;
                   if (document.pairs()[from].label == Label::identical) return;
                   if (next == kNoPair || from > next) next = from;
                 });
    if (next == kNoPair) break;
    seen.insert(next);
    way.push_back(next);
    pair = next;
  }
  return way;
}

}  // namespace ulpscope::gui
