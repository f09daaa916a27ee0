#include "diff/ranks/run_diff.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "diff/context.h"
#include "diff/ranks/rank_run.h"

namespace ulpscope {
namespace {

using CallKey = std::tuple<std::string, std::vector<int>, int64_t>;  // group, members, sequence

/// What one rank's comparison leaves: its origins with where they came from, and its collectives.
struct RankPart {
  struct Found {
    Origin origin;
    uint32_t op = 0;          ///< in A
    std::vector<CallKey> through;  ///< the collectives whose results its differing inputs are
    double clock = 0;
  };
  struct Call {
    CallKey key;
    uint32_t op = 0;
    bool differs = false;  ///< something that this rank puts in differs
    double clock = 0;
  };
  int rank = 0;
  Verdict verdict = Verdict::identical;
  std::string reason;
  Counts counts;
  std::vector<Found> found;
  std::vector<Call> calls;
};

bool differ(const RankRun& a, uint32_t x, const RankRun& b, uint32_t y) {
  const Operand &p = a.operand(x), &q = b.operand(y);
  return p.fingerprint && q.fingerprint &&
         a.side.reader->digest(p.fingerprint) != b.side.reader->digest(q.fingerprint);
}

/// Which collective last wrote the storage that an operand reads, by op and storage.
class Brought {
 public:
  explicit Brought(const RankRun& run) : run_(run) {
    for (uint32_t c = 0; c < run.collectives.size(); ++c) {
      for (const uint32_t result : run.collectives[c].results) {
        writes_[run.operand(result).storage.value].push_back(c);
      }
    }
  }
  /// Index in collectives, or -1: none wrote it, or an op of the program did since.
  int32_t find(uint32_t op, const Operand& operand) const {
    const auto found = writes_.find(operand.storage.value);
    if (found == writes_.end()) return -1;
    int32_t last = -1;
    for (const uint32_t c : found->second) {
      if (run_.collectives[c].op < op) last = int32_t(c);
    }
    if (last < 0) return -1;
    const int32_t writer = operand.writer ? run_.index->indexOf(operand.writer) : -1;
    if (writer > int32_t(run_.collectives[size_t(last)].op) && !run_.inBackend[size_t(writer)]) return -1;
    return last;
  }

 private:
  const RankRun& run_;
  std::map<int64_t, std::vector<uint32_t>> writes_;
};

CallKey keyOf(const RankRun& run, const Collective& call) {
  const ProcessGroup& group = run.groups[call.group];
  return {group.name, group.members, call.sequence};
}

/// Is what this view shows overwritten before anything computes with it? FSDP frees its buffers and
/// takes them again: what lies there until they are filled is nobody's value.
bool isLeftover(const RankRun& run, uint32_t view) {
  const OpFacts& here = run.index->facts(run.op(view));
  if (!here.movesData || here.copies) return false;
  std::set<int64_t> storages;
  for (const Operand& operand : run.side.ops.of(run.op(view))) {
    if (isRead(operand.role)) storages.insert(operand.storage.value);
  }
  for (uint32_t at = view + 1; at < run.side.ops.ops.size(); ++at) {
    if (run.inBackend[at]) continue;
    const OpFacts& facts = run.index->facts(run.op(at));
    bool written = false;
    for (const Operand& operand : run.side.ops.of(run.op(at))) {
      if (!storages.contains(operand.storage.value)) continue;
      if (isRead(operand.role) && (!facts.movesData || facts.copies)) return false;
      written = written || operand.role == Role::after;
    }
    if (written) return true;
  }
  return false;
}

RankPart summarise(const DiffResult& result, const RankFile& fileA, const RankFile& fileB) {
  const RankRun a(fileA), b(fileB);
  RankPart part;
  part.rank = fileA.rank;
  part.verdict = result.verdict;
  part.reason = result.notComparableReason;
  part.counts = result.counts;
  std::map<CallKey, const Collective*> others;
  for (const Collective& call : b.collectives) others[keyOf(b, call)] = &call;
  for (const Collective& call : a.collectives) {
    RankPart::Call& here = part.calls.emplace_back();
    here.key = keyOf(a, call);
    here.op = call.op;
    const auto found = others.find(here.key);
    if (found == others.end()) continue;
    const Collective& other = *found->second;
    if (other.kind != call.kind || other.reduction != call.reduction || other.root != call.root ||
        other.inputs.size() != call.inputs.size()) {
      continue;
    }
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      here.differs = here.differs || differ(a, call.inputs[i], b, other.inputs[i]);
    }
    // A broadcast gives what its root has.
    if (call.kind == CollectiveKind::broadcast && call.root >= 0) {
      const auto& members = std::get<1>(here.key);
      const bool isRoot = members.empty() ? a.rank == call.root
                          : size_t(call.root) < members.size() &&
                                members[size_t(call.root)] == a.rank;
      here.differs = here.differs && isRoot;
    }
  }
  const Brought brought(a);
  for (const Origin& origin : result.frontier) {
    RankPart::Found found;
    found.origin = origin;
    const auto ops = result.opsA(result.pairs[size_t(origin.pair)]);
    found.op = ops.empty() ? 0 : ops.front();
    const OpId id = origin.a ? origin.a->id : OpId{};
    if (const int32_t at = id ? a.index->indexOf(id) : -1; at >= 0) found.op = uint32_t(at);
    // What a collective only fills is no input of it, though its schema says so: two runs may find
    // other leftovers there.
    const auto call = std::find_if(part.calls.begin(), part.calls.end(),
                                   [&](const RankPart::Call& each) { return each.op == found.op; });
    if (call != part.calls.end() && origin.label != Label::structural) {
      const std::vector<std::string>& arguments = a.index->schema(a.op(found.op)).arguments;
      const size_t argument = size_t(std::max(0, origin.operandIndex));
      const bool filled = argument < arguments.size() && (arguments[argument].starts_with("output") ||
                                                          arguments[argument] == "out");
      if (filled || !call->differs) continue;
    }
    if (origin.label == Label::source && isLeftover(a, found.op)) continue;
    std::set<CallKey> through;
    if (!ops.empty() && a.inBackend[found.op]) {  // the collective's own work, under way
      for (const RankPart::Call& each : part.calls) {
        if (each.op < found.op && a.op(each.op).step == a.op(found.op).step) through.insert(each.key);
      }
    }
    if (origin.label != Label::structural) {
      for (const uint32_t op : ops) {
        for (const Operand& operand : a.side.ops.of(a.op(op))) {
          if (!isRead(operand.role)) continue;
          if (const int32_t call = brought.find(op, operand); call >= 0) {
            through.insert(keyOf(a, a.collectives[size_t(call)]));
          }
        }
      }
    }
    found.through.assign(through.begin(), through.end());
    part.found.push_back(std::move(found));
  }
  return part;
}

/// Lamport's clock: a collective comes after all that any of its members did before it.
void setClocks(std::vector<RankPart>& parts) {
  std::map<CallKey, double> clocks;
  size_t most = 0;
  for (const RankPart& part : parts) most = std::max(most, part.calls.size() + 1);
  for (bool changed = true; changed && most > 0; --most) {
    changed = false;
    for (RankPart& part : parts) {
      double before = 0;
      for (RankPart::Call& call : part.calls) {
        double& clock = clocks[call.key];
        changed = changed || clock < before + 1;
        clock = std::max(clock, before + 1);
        call.clock = before = clock;
      }
    }
  }
  for (RankPart& part : parts) {
    for (RankPart::Found& found : part.found) {
      double clock = 0;
      uint32_t last = 0;
      for (const RankPart::Call& call : part.calls) {
        if (call.op >= found.op) break;
        clock = call.clock;
        last = call.op;
      }
      found.clock = clock + double(found.op - last) / (double(found.op) + 1e6);
    }
  }
}

class RunDiffer {
 public:
  RunDiffer(const std::string& a, const std::string& b, const DiffOptions& options)
      : options_(options), a_(findRanks(a)), b_(findRanks(b)) {
    const auto ranksOf = [](const std::vector<RankFile>& files) {
      std::vector<int> ranks;
      for (const RankFile& file : files) ranks.push_back(file.rank);
      return ranks;
    };
    if (!options.noiseFile.empty()) {
      noise_ = findRanks(options.noiseFile);
      if (ranksOf(noise_) != ranksOf(a_)) {
        throw RunFolderError(options.noiseFile + " is no run of the same ranks as " + a +
                             "; give --noise a second run of it");
      }
    }
    if (ranksOf(a_) != ranksOf(b_)) {
      throw RunFolderError("the two runs are not of the same ranks (" + std::to_string(a_.size()) +
                           " in " + a + ", " + std::to_string(b_.size()) + " in " + b +
                           "); compare single traces with ulpscope diff A.ulps B.ulps");
    }
  }

  DiffResult run() {
    compareAll();
    setClocks(parts_);
    dropPropagated();
    return assemble();
  }

 private:
  DiffOptions optionsOf(size_t rank) const {
    DiffOptions options = options_;
    if (!noise_.empty()) options.noiseFile = noise_[rank].path;
    return options;
  }

  void compareAll() {
    parts_.resize(a_.size());
    std::atomic<size_t> next{0}, done{0};
    std::mutex mutex;
    std::exception_ptr failure;
    std::atomic<bool> stop{false};
    const auto work = [&](bool main) {
      for (size_t i = next++; i < a_.size() && !stop; i = next++) {
        try {
          DiffOptions options = optionsOf(i);
          options.progress = [&, main](double share) {
            if (stop) return false;
            if (!main || !options_.progress) return true;
            return options_.progress((double(done) + share) / double(a_.size()));
          };
          parts_[i] = summarise(diff(a_[i].path, b_[i].path, options), a_[i], b_[i]);
          ++done;
        } catch (...) {
          const std::lock_guard guard(mutex);
          if (!failure) failure = std::current_exception();
          stop = true;
        }
      }
    };
    std::vector<std::thread> threads;
    const size_t workers =
        std::min<size_t>(a_.size(), std::max(1u, std::thread::hardware_concurrency()));
    for (size_t w = 1; w < workers; ++w) threads.emplace_back(work, false);
    work(true);
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
  }

  void dropPropagated() {
    std::set<CallKey> differing;  // some member put a differing value in
    for (const RankPart& part : parts_) {
      for (const RankPart::Call& call : part.calls) {
        if (call.differs) differing.insert(call.key);
      }
    }
    for (RankPart& part : parts_) {
      std::erase_if(part.found, [&](const RankPart::Found& found) {
        const bool came = std::any_of(found.through.begin(), found.through.end(),
                                      [&](const CallKey& key) { return differing.contains(key); });
        propagated_ += came;
        return came;
      });
    }
  }

  DiffResult assemble() {
    const RankPart::Found* first = nullptr;
    size_t where = 0;
    const auto rankOf = [](const RankPart::Found& found) {
      return std::tuple(found.origin.expected, found.origin.step, found.clock);
    };
    for (size_t i = 0; i < parts_.size(); ++i) {
      for (const RankPart::Found& found : parts_[i].found) {
        if (first == nullptr || rankOf(found) < rankOf(*first)) {
          first = &found;
          where = i;
        }
      }
    }
    DiffResult result = diff(a_[where].path, b_[where].path, optionsOf(where));
    std::optional<Origin> dominant;
    std::vector<std::pair<std::tuple<bool, int32_t, double>, Origin>> all;
    Counts counts;
    for (size_t i = 0; i < parts_.size(); ++i) {
      for (const RankPart::Found& found : parts_[i].found) {
        Origin origin = found.origin;
        origin.rank = parts_[i].rank;
        if (i == where && result.dominant && result.dominant->pair == origin.pair) dominant = origin;
        if (i != where) origin.pair = -1;
        all.emplace_back(rankOf(found), std::move(origin));
      }
      const Counts& each = parts_[i].counts;
      counts.pairs += each.pairs, counts.identical += each.identical, counts.within += each.within;
      counts.origin += each.origin, counts.propagated += each.propagated;
      counts.healed += each.healed, counts.structural += each.structural;
      counts.source += each.source, counts.opaque += each.opaque;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    result.frontier.clear();
    for (auto& [order, origin] : all) result.frontier.push_back(std::move(origin));
    result.first.reset();
    if (first != nullptr) result.first = result.frontier.front();
    result.dominant = dominant;
    result.counts = counts;
    result.verdict = verdict(result);
    notes(result);
    return result;
  }

  Verdict verdict(DiffResult& result) const {
    if (result.first) {
      const bool structural =
          std::any_of(result.frontier.begin(), result.frontier.end(),
                      [](const Origin& origin) { return origin.label == Label::structural; });
      return structural ? Verdict::structural : Verdict::numeric;
    }
    Verdict worst = Verdict::identical;
    for (const RankPart& part : parts_) {
      // Every origin of a rank may have come through a collective from a rank that could not be told.
      if (part.verdict > worst) {
        worst = part.verdict;
        result.notComparableReason = "rank " + std::to_string(part.rank) + ": " + part.reason;
      }
    }
    return worst;
  }

  void notes(DiffResult& result) const {
    const auto text = [](int64_t n) { return std::to_string(n); };
    if (propagated_ > 0) {
      result.notes.push_back(text(propagated_) + " differences came to their rank through a collective "
                                 "and are not counted as origins.");
    }
    result.notes.push_back(text(int64_t(parts_.size())) + " ranks were compared, rank by rank; counts "
                               "are of all of them, ops, environment and coverage of rank " +
                               text(result.first ? result.first->rank : parts_[0].rank) + ".");
  }

  const DiffOptions& options_;
  std::vector<RankFile> a_, b_;
  std::vector<RankPart> parts_;
  std::vector<RankFile> noise_;
  int64_t propagated_ = 0;
};

}  // namespace

DiffResult diffRuns(const std::string& a, const std::string& b, const DiffOptions& options) {
  return RunDiffer(a, b, options).run();
}

}  // namespace ulpscope
