#include "diff/ranks/agreement.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <unordered_map>

#include "diff/context.h"
#include "diff/diff.h"
#include "diff/ranks/rank_run.h"
#include "diff/ranks/replicas.h"
#include "diff/scalar_difference.h"

namespace ulpscope {
namespace {

using Kind = Disagreement::Kind;

std::string rankList(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < std::min(ranks.size(), kShown); ++i) {
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kShown) text += " and " + std::to_string(ranks.size() - kShown) + " more";
  return text;
}
std::string verb(const std::vector<int>& ranks, const char* one, const char* many) {
  return rankList(ranks) + " " + (ranks.size() == 1 ? one : many);
}

std::string typeText(const TensorType& type) {
  std::string text(info(type.dtype).name);
  text += "[";
  for (size_t i = 0; i < type.sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(type.sizes[i]);
  }
  return text + "]";
}

/// Which of these do not say what most say; ties go to the first.
template <class T>
std::vector<size_t> minority(const std::vector<T>& said) {
  std::map<T, size_t> count;
  for (const T& each : said) ++count[each];
  size_t best = 0;
  for (size_t i = 0; i < said.size(); ++i) {
    if (count[said[i]] > count[said[best]]) best = i;
  }
  std::vector<size_t> odd;
  for (size_t i = 0; i < said.size(); ++i) {
    if (said[i] != said[best]) odd.push_back(i);
  }
  return odd;
}

class Checker {
 public:
  explicit Checker(const std::string& folder) {
    result_.folder = folder;
    const std::vector<RankFile> files = findRanks(folder);
    runs_.resize(files.size());
    forEach(files.size(), [&](size_t i) { runs_[i] = std::make_unique<RankRun>(files[i]); });
    for (const auto& run : runs_) {
      result_.world = std::max(result_.world, run->world);
      result_.ranks.push_back({run->rank, run->side.path, int64_t(run->side.ops.ops.size()),
                               int64_t(run->collectives.size()), run->side.complete});
      byRank_[run->rank] = run.get();
    }
  }

  RanksResult run() {
    if (runs_.size() < 2) {
      result_.verdict = Verdict::notComparable;
      result_.notComparableReason =
          "only " + rankList({runs_.front()->rank}) + " left a trace: nothing to compare it with";
      return std::move(result_);
    }
    if (int(runs_.size()) < result_.world) {
      result_.notes.push_back(std::to_string(result_.world - int(runs_.size())) + " of " +
                              std::to_string(result_.world) + " ranks left no trace.");
    }
    for (const auto& run : runs_) {
      if (run->side.complete) continue;
      result_.notes.push_back("The trace of rank " + std::to_string(run->rank) +
                              " was cut short: what it lacks at its end is unknown.");
    }
    collectives();
    replicas();
    structure();
    conclude();
    return std::move(result_);
  }

 private:
  template <class F>
  static void forEach(size_t count, F&& each) {
    const size_t workers =
        std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
    std::atomic<size_t> next{0};
    std::vector<std::exception_ptr> failures(workers);
    std::vector<std::thread> threads;
    const auto work = [&](size_t worker) {
      try {
        for (size_t i = next++; i < count; i = next++) each(i);
      } catch (...) {
        failures[worker] = std::current_exception();
      }
    };
    for (size_t w = 1; w < workers; ++w) threads.emplace_back(work, w);
    work(0);
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  /// Where in the program: by step, then by collectives issued, then by ops since the last of them.
  static double orderOf(const RankRun& run, uint32_t at) {
    size_t before = 0;
    uint32_t last = 0;
    for (const Collective& collective : run.collectives) {
      if (collective.op >= at) break;
      ++before;
      last = collective.op + 1;
    }
    const double within = double(at - last) / double(run.side.ops.ops.size() + 1);
    return double(run.op(at).step) * 1e9 + double(before) + within;
  }

  Disagreement::Place place(const RankRun& run, int64_t at) const {
    Disagreement::Place place;
    place.rank = run.rank;
    if (at < 0) return place;
    place.id = run.op(uint32_t(at)).id;
    place.op = run.index->schema(run.op(uint32_t(at))).name;
    place.stack = run.index->stack(size_t(at));
    return place;
  }

  Disagreement at(Kind kind, const std::vector<int>& ranks, const RankRun& run, int64_t op,
                  const RankRun& other, int64_t otherOp) const {
    Disagreement found;
    found.kind = kind;
    found.ranks = ranks;
    found.departs = place(run, op);
    found.others = place(other, otherOp);
    const RankRun& known = op >= 0 ? run : other;
    const int64_t where = op >= 0 ? op : otherOp;
    if (where >= 0) {
      found.step = known.op(uint32_t(where)).step;
      found.phase = known.op(uint32_t(where)).phase;
      found.module = known.index->module(size_t(where)).first;
      found.order = orderOf(known, uint32_t(where));
    }
    return found;
  }

  // --- collectives ---

  struct Member {
    RankRun* run;
    std::vector<uint32_t> calls;  ///< indices in run->collectives
  };

  void collectives() {
    // Groups are known by name and members; two disjoint groups may share a name.
    std::map<std::pair<std::string, std::vector<int>>, std::vector<Member>> groups;
    for (const auto& run : runs_) {
      std::vector<Member> mine(run->groups.size(), Member{run.get(), {}});
      for (uint32_t c = 0; c < run->collectives.size(); ++c) {
        mine[run->collectives[c].group].calls.push_back(c);
      }
      for (size_t g = 0; g < mine.size(); ++g) {
        groups[{run->groups[g].name, run->groups[g].members}].push_back(std::move(mine[g]));
      }
    }
    for (auto& [key, members] : groups) {
      const auto& [name, ranks] = key;
      // A member that never called anything in this group lacks all of its calls.
      for (const int rank : ranks) {
        const bool there = std::any_of(members.begin(), members.end(), [rank = rank](const Member& m) {
          return m.run->rank == rank;
        });
        if (!there && byRank_.contains(rank)) members.push_back({byRank_[rank], {}});
      }
      std::sort(members.begin(), members.end(),
                [](const Member& x, const Member& y) { return x.run->rank < y.run->rank; });
      RanksResult::Group group{name, ranks, 0};
      if (group.ranks.empty()) {
        for (const Member& member : members) group.ranks.push_back(member.run->rank);
      }
      for (const Member& member : members) {
        group.collectives = std::max(group.collectives, int64_t(member.calls.size()));
      }
      if (members.size() > 1) compareGroup(name, members);
      result_.groups.push_back(std::move(group));
    }
  }

  /// What a call says that all members must say alike.
  static std::string formOf(const RankRun& run, const Collective& call) {
    std::string text;
    if (call.root >= 0) text += "root " + std::to_string(call.root) + " ";
    if (!call.reduction.empty()) text += call.reduction + " ";
    if (call.kind == CollectiveKind::scatter || call.kind == CollectiveKind::gather ||
        call.kind == CollectiveKind::allToAll || call.kind == CollectiveKind::barrier) {
      return text;  // the root has tensors that others lack
    }
    const std::vector<uint32_t>& tensors = call.inputs.empty() ? call.results : call.inputs;
    for (const uint32_t each : tensors) {
      const TensorType& type = run.type(each);
      text += std::string(info(type.dtype).name) + " x " + std::to_string(elementCount(type)) + " ";
    }
    return text;
  }

  void compareGroup(const std::string& group, const std::vector<Member>& members) {
    size_t longest = 0;
    for (const Member& member : members) longest = std::max(longest, member.calls.size());
    for (size_t i = 0; i < longest; ++i) {
      std::vector<std::string> kinds, forms;
      for (const Member& member : members) {
        if (i >= member.calls.size()) {
          kinds.emplace_back();
          forms.emplace_back();
          continue;
        }
        const Collective& call = member.run->collectives[member.calls[i]];
        kinds.emplace_back(name(call.kind));
        forms.push_back(formOf(*member.run, call));
      }
      const bool sameKind = std::all_of(kinds.begin(), kinds.end(),
                                        [&](const std::string& k) { return k == kinds[0]; });
      const bool sameForm = std::all_of(forms.begin(), forms.end(),
                                        [&](const std::string& f) { return f == forms[0]; });
      if (!sameKind || !sameForm) {
        mismatch(group, members, i, sameKind ? forms : kinds, !sameKind);
        return;  // from here on the calls no longer belong together
      }
      ++result_.collectives;
      compareValues(group, members, i);
    }
  }

  void mismatch(const std::string& group, const std::vector<Member>& members, size_t i,
                const std::vector<std::string>& said, bool order) {
    const std::vector<size_t> odd = minority(said);
    std::vector<int> ranks;
    for (const size_t m : odd) ranks.push_back(members[m].run->rank);
    size_t even = 0;
    while (std::find(odd.begin(), odd.end(), even) != odd.end()) ++even;
    const auto opOf = [&](size_t m) {
      return i < members[m].calls.size()
                 ? int64_t(members[m].run->collectives[members[m].calls[i]].op)
                 : int64_t{-1};
    };
    Disagreement found = at(order ? Kind::order : Kind::form, ranks, *members[odd[0]].run,
                            opOf(odd[0]), *members[even].run, opOf(even));
    found.group = group;
    found.sequence = int64_t(i);
    found.departs.value = said[odd[0]];
    found.others.value = said[even];
    const auto trimmed = [](std::string text) {
      while (text.ends_with(' ')) text.pop_back();
      return text;
    };
    const std::string call = "collective " + std::to_string(i) + " of group " + group;
    std::vector<int> rest;
    for (size_t m = 0; m < members.size(); ++m) {
      if (std::find(odd.begin(), odd.end(), m) == odd.end()) rest.push_back(members[m].run->rank);
    }
    if (said[odd[0]].empty()) {
      found.explanation = verb(ranks, "never issued ", "never issued ") + call + ", the " +
                          trimmed(said[even]) + " that " + rankList(rest) +
                          " issued: whoever waits for it waits for ever";
      bool allCut = true;
      for (const Member& member : members) allCut = allCut && !member.run->side.complete;
      if (allCut) {
        found.explanation += ", unless the job was killed while the ranks still ran";
      }
    } else if (said[even].empty()) {
      found.explanation = verb(ranks, "issued ", "issued ") + call + ", " +
                          (trimmed(said[odd[0]]).starts_with("a") ? "an " : "a ") +
                          trimmed(said[odd[0]]) + ", and " + rankList(rest) +
                          " never did: whoever waits for it waits for ever";
    } else if (order) {
      found.explanation = verb(ranks, "issued ", "issued ") + trimmed(said[odd[0]]) + " as " + call +
                          " where " + verb(rest, "issued ", "issued ") + trimmed(said[even]) +
                          ": the ranks wait for each other or mix their data";
    } else {
      found.explanation = "as " + call + " " + verb(ranks, "gave ", "gave ") +
                          trimmed(said[odd[0]]) + " to the " +
                          std::string(name(members[odd[0]].run->collectives[members[odd[0]].calls[i]].kind)) +
                          ", " + verb(rest, "gave ", "gave ") + trimmed(said[even]);
    }
    result_.found.push_back(std::move(found));
  }

  /// The reads of one call's results, by result and view.
  using Views = std::map<std::tuple<uint32_t, std::vector<int64_t>, std::vector<int64_t>, int64_t>,
                         const ResultRead*>;
  Views viewsOf(const RankRun& run, uint32_t call) {
    Views views;
    auto& starts = readStarts_[&run];
    if (starts.empty()) {
      starts.resize(run.collectives.size());
      for (const ResultRead& read : run.reads) starts[read.collective].push_back(&read);
    }
    for (const ResultRead* read : starts[call]) {
      const TensorType& type = run.type(read->operand);
      views.try_emplace({read->result, type.sizes, type.strides, run.operand(read->operand).offset},
                        read);
    }
    return views;
  }

  void compareValues(const std::string& group, const std::vector<Member>& members, size_t i) {
    const Collective& model = members[0].run->collectives[members[0].calls[i]];
    if (model.kind == CollectiveKind::broadcast) noteHealed(group, members, i);
    if (!equalResults(model.kind)) return;
    std::vector<Views> views;
    for (const Member& member : members) views.push_back(viewsOf(*member.run, member.calls[i]));
    bool compared = false;
    for (const auto& [key, first] : views[0]) {
      std::vector<Digest> digests;
      std::vector<const ResultRead*> reads;
      for (size_t m = 0; m < members.size(); ++m) {
        const auto found = views[m].find(key);
        if (found == views[m].end()) break;
        reads.push_back(found->second);
        digests.push_back(digest(*members[m].run, found->second->operand));
      }
      if (reads.size() < members.size()) continue;
      compared = true;
      const std::vector<size_t> odd = minority(texts(digests));
      if (odd.empty()) continue;
      std::vector<int> ranks;
      for (const size_t m : odd) ranks.push_back(members[m].run->rank);
      size_t even = 0;
      while (std::find(odd.begin(), odd.end(), even) != odd.end()) ++even;
      Disagreement found =
          at(Kind::result, ranks, *members[odd[0]].run,
             members[odd[0]].run->collectives[members[odd[0]].calls[i]].op, *members[even].run,
             members[even].run->collectives[members[even].calls[i]].op);
      found.group = group;
      found.sequence = int64_t(i);
      found.departs.value = digests[odd[0]] == Digest{} ? "" : toHex(digests[odd[0]]).substr(0, 12);
      found.others.value = toHex(digests[even]).substr(0, 12);
      found.explanation = "the " + std::string(name(model.kind)) + " that is collective " +
                          std::to_string(i) + " of group " + group + " left other values on " +
                          rankList(ranks) + " than on the rest, though all ranks of a group get the same (" +
                          typeText(members[odd[0]].run->type(reads[odd[0]]->operand)) + ", first read by " +
                          members[odd[0]].run->index->schema(members[odd[0]].run->op(reads[odd[0]]->op)).name +
                          " #" + std::to_string(members[odd[0]].run->op(reads[odd[0]]->op).id.value) + ")";
      result_.found.push_back(std::move(found));
      break;
    }
    result_.results += compared;
  }

  static Digest digest(const RankRun& run, uint32_t operand) {
    return run.side.reader->digest(run.operand(operand).fingerprint);
  }
  static std::vector<std::string> texts(const std::vector<Digest>& digests) {
    std::vector<std::string> result;
    for (const Digest& each : digests) result.push_back(toHex(each));
    return result;
  }

  /// A broadcast into which ranks bring other values of their own makes them equal.
  void noteHealed(const std::string& group, const std::vector<Member>& members, size_t i) {
    const Collective& model = members[0].run->collectives[members[0].calls[i]];
    for (size_t t = 0; t < model.inputs.size(); ++t) {
      std::vector<Digest> digests;
      std::vector<const Member*> who;
      for (const Member& member : members) {
        const Collective& call = member.run->collectives[member.calls[i]];
        if (t >= call.inputs.size() || !member.run->operand(call.inputs[t]).fingerprint) continue;
        if (info(member.run->type(call.inputs[t]).dtype).kind != NumberKind::floating) continue;
        digests.push_back(digest(*member.run, call.inputs[t]));
        who.push_back(&member);
      }
      const std::vector<size_t> odd = minority(texts(digests));
      if (odd.empty()) continue;
      std::vector<int> ranks;
      for (const size_t m : odd) ranks.push_back(who[m]->run->rank);
      size_t even = 0;
      while (std::find(odd.begin(), odd.end(), even) != odd.end()) ++even;
      Disagreement found = at(Kind::healed, ranks, *who[odd[0]]->run,
                              who[odd[0]]->run->collectives[who[odd[0]]->calls[i]].op,
                              *who[even]->run, who[even]->run->collectives[who[even]->calls[i]].op);
      found.group = group;
      found.sequence = int64_t(i);
      found.explanation = verb(ranks, "came", "came") + " with other values than the rest to the broadcast " +
                          "from rank " + std::to_string(model.root) +
                          " that is collective " + std::to_string(i) + " of group " + group + " (" +
                          typeText(who[odd[0]]->run->type(
                              who[odd[0]]->run->collectives[who[odd[0]]->calls[i]].inputs[t])) +
                          "), which made them equal";
      result_.healed.push_back(std::move(found));
      return;
    }
  }

  // --- parameters ---

  void replicas() {
    std::vector<Replicas> all(runs_.size());
    forEach(runs_.size(), [&](size_t i) { all[i] = findReplicas(*runs_[i]); });
    for (const Replicas& each : all) updates_.push_back(each.influences);
    const size_t count = all[0].parameters.size();
    for (const Replicas& each : all) {
      if (each.parameters.size() != count) {
        result_.notes.push_back("The ranks update different numbers of parameters: none was taken as "
                                "replicated.");
        return;
      }
    }
    bool activations = false;
    for (const Replicas& each : all) activations = activations || each.activationCollectives;
    int64_t shards = 0, unknown = 0;
    std::set<std::string> reported;
    for (size_t p = 0; p < count; ++p) {
      bool shard = false, reduced = false, sameType = true;
      std::string group;
      for (size_t m = 0; m < all.size(); ++m) {
        const Replicas::Parameter& parameter = all[m].parameters[p];
        shard = shard || parameter.shard || (parameter.carried & kCarriesScattered) != 0;
        reduced = reduced || (parameter.carried & kCarriesReduced) != 0;
        if (group.empty()) group = parameter.group;
        sameType = sameType && runs_[m]->side.reader->type(parameter.type).sizes ==
                                   runs_[0]->side.reader->type(all[0].parameters[p].type).sizes;
      }
      if (shard) {
        ++shards;
        continue;
      }
      if (!sameType || (!reduced && activations)) {
        ++unknown;
        continue;
      }
      ++result_.parameters;
      compareParameter(all, p, reduced ? group : std::string());
    }
    if (shards > 0) {
      result_.notes.push_back(std::to_string(shards) + " of " + std::to_string(count) +
                              " parameters are shards: each rank holds its own part, and nothing says "
                              "that they agree.");
    }
    if (unknown > 0) {
      result_.notes.push_back(std::to_string(unknown) + " of " + std::to_string(count) +
                              " parameters may be parts of larger ones (no reduction of their gradients, "
                              "and the ranks exchange activations): they were not compared.");
    }
    if (count == 0) result_.notes.push_back("No optimizer updates a parameter in these traces.");
  }

  void compareParameter(const std::vector<Replicas>& all, size_t p, const std::string& group) {
    std::vector<size_t> members;
    for (size_t m = 0; m < all.size(); ++m) {
      if (group.empty() || all[m].parameters[p].group.empty() || all[m].parameters[p].group == group) {
        members.push_back(m);
      }
    }
    if (members.size() < 2) return;
    size_t steps = SIZE_MAX;
    for (const size_t m : members) steps = std::min(steps, all[m].parameters[p].updates.size());
    const auto compare = [&](Kind kind, size_t step) {
      std::vector<Digest> digests;
      for (const size_t m : members) {
        const Replicas::Update& update = all[m].parameters[p].updates[step];
        const int64_t operand = kind == Kind::start ? update.before : update.after;
        if (operand < 0 || !runs_[m]->operand(uint32_t(operand)).fingerprint) return false;
        digests.push_back(digest(*runs_[m], uint32_t(operand)));
      }
      const std::vector<size_t> odd = minority(texts(digests));
      if (odd.empty()) return false;
      report(all, p, kind, step, members, odd);
      return true;
    };
    for (size_t step = 0; step < steps; ++step) {
      if (step == 0 && compare(Kind::start, 0)) return;
      ++result_.updates;
      if (compare(Kind::parameter, step)) return;
    }
  }

  void report(const std::vector<Replicas>& all, size_t p, Kind kind, size_t step,
              const std::vector<size_t>& members, const std::vector<size_t>& odd) {
    std::vector<int> ranks;
    for (const size_t o : odd) ranks.push_back(runs_[members[o]]->rank);
    size_t even = 0;
    while (std::find(odd.begin(), odd.end(), even) != odd.end()) ++even;
    const size_t m = members[odd[0]], n = members[even];
    const RankRun &run = *runs_[m], &other = *runs_[n];
    const Replicas::Update& mine = all[m].parameters[p].updates[step];
    const Replicas::Update& theirs = all[n].parameters[p].updates[step];
    const std::string tensor = "parameter " + std::to_string(p) + " (" +
                               typeText(run.side.reader->type(all[m].parameters[p].type)) + ")";
    if (kind == Kind::start) {
      const auto maker = [](const RankRun& r, const Replicas::Update& update) {
        const int32_t writer = r.index->indexOf(r.operand(uint32_t(update.before)).writer);
        return writer >= 0 ? int64_t(writer) : int64_t(update.op);
      };
      Disagreement found = at(kind, ranks, run, maker(run, mine), other, maker(other, theirs));
      found.explanation = verb(ranks, "starts", "start") + " with another " + tensor +
                          " than the rest: " + found.departs.op + " made it there, " +
                          found.others.op + " on rank " + std::to_string(other.rank);
      startOps_[m] = std::max(startOps_[m], found.departs.id.value);
      result_.found.push_back(std::move(found));
      return;
    }
    Disagreement found = at(kind, ranks, run, mine.op, other, theirs.op);
    const bool mineReduced = (mine.carried & kCarriesReduced) != 0;
    const bool theirsReduced = (theirs.carried & kCarriesReduced) != 0;
    const std::string update = tensor + " differs after the update in step " +
                               std::to_string(run.op(mine.op).step);
    if (!mineReduced && !theirsReduced) {
      found.explanation = update + ": no rank's gradient of it came through a reduction, each rank used its own";
    } else if (!mineReduced || !theirsReduced) {
      found.explanation = update + ": the gradient of " +
                          (mineReduced ? "rank " + std::to_string(other.rank)
                                       : verb(ranks, "", "")) +
                          " did not come through the reduction that the other ranks' did";
    } else {
      found.explanation = update + ", though it started equal and its gradient was reduced";
    }
    result_.found.push_back(std::move(found));
  }

  // --- structure ---

  void structure() {
    if (updates_.empty()) return;
    const RankRun& reference = *runs_[0];
    std::vector<std::vector<RankStructure>> differences(runs_.size());
    forEach(runs_.size() - 1, [&](size_t i) {
      differences[i + 1] = structuralDifferences(reference, updates_[0], *runs_[i + 1], updates_[i + 1]);
    });
    result_.ops = int64_t(reference.side.ops.ops.size());
    // By place in the reference: which ranks say what.
    std::map<std::pair<int64_t, bool>, std::map<size_t, const RankStructure*>> places;
    for (size_t m = 1; m < runs_.size(); ++m) {
      for (const RankStructure& each : differences[m]) {
        places[{each.position, each.scalar.argument.empty()}].try_emplace(m, &each);
      }
    }
    std::set<std::vector<int>> told;
    for (const auto& [key, who] : places) {
      std::vector<std::string> said(runs_.size());
      const RankStructure* any = who.begin()->second;
      for (size_t m = 0; m < runs_.size(); ++m) {
        const auto found = who.find(m);
        if (key.second) {
          said[m] = found == who.end() ? "" : found->second->name + (found->second->extra ? "+" : "-");
        } else {
          said[m] = found == who.end() ? any->scalar.a : found->second->scalar.b;
        }
      }
      const std::vector<size_t> odd = minority(said);
      if (odd.empty()) continue;
      std::vector<int> ranks;
      for (const size_t m : odd) ranks.push_back(runs_[m]->rank);
      if (key.second && !told.insert(ranks).second) continue;  // the rest follows from the first
      reportStructure(key.second, who, said, odd, ranks);
    }
  }

  void reportStructure(bool ops, const std::map<size_t, const RankStructure*>& who,
                       const std::vector<std::string>& said, const std::vector<size_t>& odd,
                       const std::vector<int>& ranks) {
    size_t even = 0;
    while (std::find(odd.begin(), odd.end(), even) != odd.end()) ++even;
    const auto opOf = [&](size_t m) {
      const auto found = who.find(m);
      if (found != who.end()) return found->second->theirs;
      return m == 0 ? who.begin()->second->mine : int64_t{-1};
    };
    int64_t mine = opOf(odd[0]), theirs = opOf(even);
    Disagreement found = at(ops ? Kind::structure : Kind::scalar, ranks, *runs_[odd[0]], mine,
                            *runs_[even], theirs);
    const RankStructure& any = *who.begin()->second;
    if (ops) {
      const bool extra = mine >= 0;
      const std::string op = extra ? found.departs.op : found.others.op;
      found.explanation = verb(ranks, "runs ", "run ") + op + " here and the other ranks do not, on the way "
                          "to what all ranks share";
      if (!extra) {
        found.explanation = verb(ranks, "lacks ", "lack ") + op + ", which the other ranks run here on the way "
                            "to what all ranks share";
      }
    } else {
      if (theirs < 0) found.others = place(*runs_[0], any.mine);
      found.departs.value = said[odd[0]];
      found.others.value = said[even];
      const std::string op = found.departs.op.empty() ? found.others.op : found.departs.op;
      found.explanation = verb(ranks, "gives ", "give ") + op + " another " + any.scalar.argument +
                          ": " + said[odd[0]] + ", the other ranks " + said[even];
    }
    // What made a rank's first parameters differ is told with them.
    const auto start = startOps_.find(odd[0]);
    if (start != startOps_.end() && found.departs.id && found.departs.id.value <= start->second) return;
    result_.found.push_back(std::move(found));
  }

  void conclude() {
    std::stable_sort(result_.found.begin(), result_.found.end(),
                     [](const Disagreement& x, const Disagreement& y) { return x.order < y.order; });
    if (!result_.found.empty()) {
      const Kind first = result_.found.front().kind;
      const bool numbers = first == Kind::result || first == Kind::parameter || first == Kind::start;
      result_.verdict = numbers ? Verdict::numeric : Verdict::structural;
      return;
    }
    const bool cut = std::any_of(runs_.begin(), runs_.end(),
                                 [](const auto& run) { return !run->side.complete; });
    if (result_.collectives == 0 && result_.parameters == 0) {
      result_.verdict = Verdict::notComparable;
      result_.notComparableReason = "the ranks share no collective and update no parameter in common";
    } else if (cut) {
      result_.verdict = Verdict::notComparable;
      result_.notComparableReason = "a trace was cut short before any difference; what was recorded agrees";
    }
  }

  RanksResult result_;
  std::vector<std::unique_ptr<RankRun>> runs_;
  std::map<int, RankRun*> byRank_;
  std::map<const RankRun*, std::vector<std::vector<const ResultRead*>>> readStarts_;
  std::vector<std::vector<bool>> updates_;
  std::map<size_t, int64_t> startOps_;  ///< by rank: the last op that made a parameter that starts other
};

}  // namespace

std::string_view name(Disagreement::Kind kind) {
  switch (kind) {
    case Kind::order: return "order";
    case Kind::form: return "form";
    case Kind::structure: return "structure";
    case Kind::scalar: return "scalar";
    case Kind::start: return "start";
    case Kind::parameter: return "parameter";
    case Kind::result: return "result";
    case Kind::healed: return "healed";
  }
  return "order";
}

RanksResult checkRanks(const std::string& folder) { return Checker(folder).run(); }

}  // namespace ulpscope
