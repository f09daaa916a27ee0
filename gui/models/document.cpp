#include "gui/models/document.h"

#include <algorithm>
#include <future>

#include "diff/diff.h"

namespace ulpscope::gui {
namespace {

void ask(const std::function<bool()>& keepGoing) {
  if (keepGoing && !keepGoing()) throw Cancelled{};
}

int64_t findOp(const std::vector<Op>& ops, OpId id) {
  const auto at = std::lower_bound(ops.begin(), ops.end(), id,
                                   [](const Op& op, OpId wanted) { return op.id < wanted; });
  return at != ops.end() && at->id == id ? at - ops.begin() : -1;
}

/// Index of an op by its id, in constant time where ids are nearly dense (they count started ops).
class OpLookup {
 public:
  explicit OpLookup(const std::vector<Op>& ops) : ops_(ops) {
    if (ops.empty()) return;
    first_ = ops.front().id.value;
    const uint64_t range = uint64_t(ops.back().id.value - first_) + 1;
    if (range > 4 * uint64_t(ops.size()) + 1024) return;
    table_.assign(size_t(range), kNoPair);
    for (uint32_t i = 0; i < ops.size(); ++i) {
      const uint64_t at = uint64_t(ops[i].id.value - first_);
      if (at < range) table_[size_t(at)] = i;
    }
  }
  int64_t find(OpId id) const {
    if (table_.empty()) return findOp(ops_, id);
    const uint64_t at = uint64_t(id.value - first_);
    return at < table_.size() && table_[size_t(at)] != kNoPair ? int64_t(table_[size_t(at)]) : -1;
  }

 private:
  const std::vector<Op>& ops_;
  int64_t first_ = 0;
  std::vector<uint32_t> table_;
};

/// Calls visit(producer, consumer) once for each op that reads what another op wrote.
template <class Visit>
void forEachEdge(const OpTable& table, const OpLookup& lookup, Visit visit) {
  std::vector<uint32_t> seen;
  for (uint32_t consumer = 0; consumer < table.ops.size(); ++consumer) {
    seen.clear();
    for (const Operand& operand : table.of(table.ops[consumer])) {
      if (operand.role == Role::output || operand.role == Role::after || !operand.writer) continue;
      const int64_t producer = lookup.find(operand.writer);
      if (producer < 0 || producer == consumer) continue;
      if (std::find(seen.begin(), seen.end(), uint32_t(producer)) != seen.end()) continue;
      seen.push_back(uint32_t(producer));
      visit(uint32_t(producer), consumer);
    }
  }
}

/// The reader finds the modules of backward ops by an index that it makes at the first question:
/// asked here, for the window must not wait for it.
void prepareNames(const Side& side) {
  if (!side.reader) return;
  const auto& ops = side.ops.ops;
  const auto backward = std::find_if(ops.begin(), ops.end(), [](const Op& op) {
    return op.phase == Phase::backward && op.sequence >= 0;
  });
  if (backward != ops.end()) side.reader->module(*backward);
}

SideIndex indexSide(const Document& document, SideName which) {
  const OpTable& table = document.side(which).ops;
  SideIndex index;
  index.pairOfOp.assign(table.ops.size(), kNoPair);
  for (uint32_t i = 0; i < document.pairs().size(); ++i)
    for (uint32_t op : document.members(document.pairs()[i], which)) index.pairOfOp[op] = i;

  const OpLookup lookup(table.ops);
  index.consumerStart.assign(table.ops.size() + 1, 0);
  forEachEdge(table, lookup,
              [&](uint32_t producer, uint32_t) { ++index.consumerStart[producer + 1]; });
  for (size_t i = 1; i < index.consumerStart.size(); ++i)
    index.consumerStart[i] += index.consumerStart[i - 1];
  index.consumers.resize(index.consumerStart.back());
  std::vector<uint32_t> next(index.consumerStart.begin(), index.consumerStart.end() - 1);
  forEachEdge(table, lookup, [&](uint32_t producer, uint32_t consumer) {
    index.consumers[next[producer]++] = consumer;
  });
  return index;
}

}  // namespace

int64_t Document::opIndex(SideName which, OpId id) const {
  return id ? findOp(side(which).ops.ops, id) : -1;
}

uint32_t Document::pairOf(SideName which, OpId id) const {
  const int64_t op = opIndex(which, id);
  return op < 0 ? kNoPair : index[size_t(which)].pairOfOp[size_t(op)];
}

std::span<const uint32_t> Document::consumersOf(SideName which, uint32_t op) const {
  const SideIndex& at = index[size_t(which)];
  return {at.consumers.data() + at.consumerStart[op],
          at.consumerStart[op + 1] - at.consumerStart[op]};
}

uint32_t Document::opening() const {
  if (result.first && result.first->pair >= 0) return uint32_t(result.first->pair);
  return pairs().empty() ? kNoPair : 0;
}

std::shared_ptr<const Document> makeDocument(DiffResult result, const std::string& mapFile,
                                             const std::function<bool()>& keepGoing) {
  auto document = std::make_shared<Document>();
  document->result = std::move(result);
  document->mapFile = mapFile;
  // A reader is for one thread at a time: B's is the helper's until it has prepared its names.
  std::promise<void> prepared;
  std::shared_future<void> preparedB = prepared.get_future().share();
  auto helper = std::async(std::launch::async, [&document = *document, &prepared] {
    try {
      prepareNames(document.result.b);
      prepared.set_value();
    } catch (...) {  // a damaged page; whoever waits for the names hears of it
      prepared.set_exception(std::current_exception());
    }
    document.index[0] = indexSide(document, SideName::a);
    document.index[1] = indexSide(document, SideName::b);
  });
  document->tree = foldPairs(document->result, keepGoing, [&] { preparedB.get(); });
  prepareNames(document->result.a);
  preparedB.get();
  helper.get();
  ask(keepGoing);
  return document;
}

std::shared_ptr<const Document> openTrace(const std::string& path,
                                          const std::function<bool(double)>& progress) {
  const auto report = [&](double share) {
    if (progress && !progress(share)) throw Cancelled{};
  };
  report(0);
  DiffResult result;
  Side& side = result.a;
  side.path = path;
  side.reader = std::make_shared<Reader>(path);
  side.complete = side.reader->complete();
  side.coverage = side.reader->coverage();
  // By key and in pages, so that a cancelled opening stops soon.
  constexpr int64_t kPage = 50'000;
  const double last = double(std::max<int64_t>(1, side.reader->lastOp().value));
  for (OpId next{1};;) {
    const size_t before = side.ops.ops.size();
    side.reader->readOps(next, kPage, side.ops);
    if (side.ops.ops.size() == before) break;
    next = OpId{side.ops.ops.back().id.value + 1};
    report(0.7 * double(next.value) / last);
  }
  result.pairs.resize(side.ops.ops.size());
  result.membersA.resize(side.ops.ops.size());
  for (uint32_t i = 0; i < side.ops.ops.size(); ++i) {
    side.kernels += side.ops.ops[i].kind == OpKind::kernel;
    result.membersA[i] = i;
    result.pairs[i].firstA = i;
    result.pairs[i].countA = 1;
    result.pairs[i].error = 0;
  }
  result.counts.pairs = int64_t(result.pairs.size());
  auto document = std::make_shared<Document>();
  document->result = std::move(result);
  document->single = true;
  const auto keepGoing = [&] { return !progress || progress(0.75); };
  document->tree = foldPairs(document->result, keepGoing);
  report(0.9);
  document->index[0] = indexSide(*document, SideName::a);
  document->index[1] = SideIndex{{}, {0}, {}};
  prepareNames(document->result.a);
  return document;
}

}  // namespace ulpscope::gui
