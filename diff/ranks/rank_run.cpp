#include "diff/ranks/rank_run.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace ulpscope {
namespace {

namespace fs = std::filesystem;

int numberOr(const std::string& text, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

struct Known {
  std::string_view part;  // of the name, without namespace and underscores at its ends
  CollectiveKind kind;
};
// The first that the name begins with counts.
constexpr std::array<Known, 13> kKnown{{
    {"allreduce", CollectiveKind::allReduce},
    {"all_reduce", CollectiveKind::allReduce},
    {"broadcast", CollectiveKind::broadcast},
    {"allgather", CollectiveKind::allGather},
    {"all_gather", CollectiveKind::allGather},
    {"reduce_scatter", CollectiveKind::reduceScatter},
    {"reduce", CollectiveKind::reduce},
    {"gather", CollectiveKind::gather},
    {"scatter", CollectiveKind::scatter},
    {"alltoall", CollectiveKind::allToAll},
    {"all_to_all", CollectiveKind::allToAll},
    {"barrier", CollectiveKind::barrier},
    {"monitored_barrier", CollectiveKind::barrier},
}};

std::optional<CollectiveKind> kindOf(std::string_view name) {
  if (const size_t at = name.rfind(':'); at != std::string_view::npos) name.remove_prefix(at + 1);
  while (name.starts_with('_')) name.remove_prefix(1);
  for (const Known& known : kKnown) {
    if (!known.part.empty() && name.starts_with(known.part)) return known.kind;
  }
  return std::nullopt;  // send, recv, wait_tensor
}

/// Schemas of c10d declare their inputs as written, too: the name tells which arguments are results.
bool isResult(const Schema& schema, const Operand& operand) {
  if (operand.role == Role::output) return true;
  if (operand.role != Role::after) return false;
  const size_t arg = size_t(std::max<int>(0, operand.arg));
  const std::string_view name = arg < schema.arguments.size() ? schema.arguments[arg] : "";
  if (name.starts_with("output") || name == "out" || name == "tensors") return true;
  const bool hasOutputs = std::any_of(
      schema.arguments.begin(), schema.arguments.end(),
      [](const std::string& each) { return each.starts_with("output") || each == "out"; });
  return !hasOutputs;  // all_reduce_(input)
}

bool isInput(const Schema& schema, const Operand& operand) {
  if (!isRead(operand.role)) return false;
  const size_t arg = size_t(std::max<int>(0, operand.arg));
  const std::string_view name = arg < schema.arguments.size() ? schema.arguments[arg] : "";
  return !name.starts_with("output") && name != "out";
}

std::vector<int> parseRanks(std::string_view text) {
  std::vector<int> ranks;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    const int first = numberOr(std::string(part.substr(0, dash)), -1);
    const int last =
        dash == std::string_view::npos ? first : numberOr(std::string(part.substr(dash + 1)), -1);
    for (int rank = first; rank >= 0 && rank <= last && ranks.size() < 1'000'000; ++rank) {
      ranks.push_back(rank);
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

std::string_view name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::allReduce: return "all_reduce";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::allGather: return "all_gather";
    case CollectiveKind::reduceScatter: return "reduce_scatter";
    case CollectiveKind::reduce: return "reduce";
    case CollectiveKind::gather: return "gather";
    case CollectiveKind::scatter: return "scatter";
    case CollectiveKind::allToAll: return "all_to_all";
    case CollectiveKind::barrier: return "barrier";
  }
  return "collective";
}

std::vector<RankFile> findRanks(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw RunFolderError(folder + " is no folder; name the folder that holds the traces of a run");
  }
  std::vector<RankFile> ranks, others;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != ".ulps") continue;
    RankFile file;
    file.path = entry->path().string();
    const Reader reader(file.path);
    file.rank = numberOr(reader.meta("rank"), -1);
    file.world = std::max(1, numberOr(reader.meta("world_size"), 1));
    (file.rank >= 0 ? ranks : others).push_back(std::move(file));
  }
  if (ranks.empty() && others.size() == 1) {
    ranks = std::move(others);
    ranks.front().rank = 0;
  }
  if (ranks.empty()) {
    throw RunFolderError(
        others.empty() ? "no trace (.ulps) in " + folder + "; record into it with: ulpscope record -o " +
                             folder + "/ -- torchrun ..."
                       : "the traces in " + folder + " are of " + std::to_string(others.size()) +
                             " processes that were no ranks of one job; compare two of them with "
                             "ulpscope diff A B");
  }
  std::sort(ranks.begin(), ranks.end(), [](const RankFile& x, const RankFile& y) {
    return std::tie(x.rank, x.path) < std::tie(y.rank, y.path);
  });
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i].rank == ranks[i - 1].rank) {
      throw RunFolderError("two traces of rank " + std::to_string(ranks[i].rank) + " in " + folder +
                           " (" + fs::path(ranks[i - 1].path).filename().string() + ", " +
                           fs::path(ranks[i].path).filename().string() +
                           "): give each run a folder of its own");
    }
  }
  return ranks;
}

RankRun::RankRun(const RankFile& file) : rank(file.rank), world(file.world) {
  side.path = file.path;
  side.reader = std::make_shared<Reader>(file.path);
  side.complete = side.reader->complete();
  side.ops = side.reader->readAll();
  side.coverage = side.reader->coverage();
  index = std::make_unique<SideIndex>(side, nullptr);
  producers = ulpscope::producers(*index);
  findBackendOps();
  findCollectives();
  findReads();
}

void RankRun::findBackendOps() {
  std::unordered_map<int64_t, bool> known;
  const auto inside = [&](RegionId id) {
    if (!id) return false;
    const auto found = known.find(id.value);
    if (found != known.end()) return found->second;
    bool result = false;
    for (RegionId at = id; at && !result;) {
      const Region& region = side.reader->region(at);
      for (const std::string_view backend : {"gloo:", "nccl:", "mpi:", "ucc:", "xccl:"}) {
        result = result || (region.kind == RegionKind::scope && region.name.starts_with(backend));
      }
      if (region.parent.value >= at.value) break;  // a damaged file
      at = region.parent;
    }
    known[id.value] = result;
    return result;
  };
  inBackend.resize(side.ops.ops.size());
  for (size_t i = 0; i < inBackend.size(); ++i) {
    inBackend[i] = op(uint32_t(i)).kind != OpKind::collective && inside(op(uint32_t(i)).region);
  }
}

uint32_t RankRun::groupNamed(const std::string& text) {
  ProcessGroup group;
  const size_t colon = text.rfind(": ");
  group.name = text.substr(0, colon);
  if (colon != std::string::npos && text.compare(colon + 2, 6, "ranks ") == 0) {
    group.members = parseRanks(std::string_view(text).substr(colon + 8));
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].name == group.name && groups[i].members == group.members) return uint32_t(i);
  }
  groups.push_back(std::move(group));
  return uint32_t(groups.size() - 1);
}

void RankRun::findCollectives() {
  std::vector<int64_t> sequences;
  for (uint32_t at = 0; at < side.ops.ops.size(); ++at) {
    if (op(at).kind != OpKind::collective) continue;
    const Schema& schema = index->schema(op(at));
    const std::optional<CollectiveKind> kind = kindOf(schema.name);
    if (!kind) continue;
    Collective collective;
    collective.op = at;
    collective.kind = *kind;
    std::string group;
    for (const Scalar& scalar : side.reader->scalars(op(at).scalars)) {
      const size_t arg = size_t(std::max<int>(0, scalar.arg));
      const std::string_view argument = arg < schema.arguments.size() ? schema.arguments[arg] : "";
      if (argument == "process_group" || argument == "group_name") group = scalar.text;
      if (argument == "reduce_op") collective.reduction = scalar.text;
      if (argument == "root_rank" || argument == "src") collective.root = numberOr(scalar.text, -1);
    }
    collective.group = groupNamed(group);
    sequences.resize(groups.size());
    collective.sequence = sequences[collective.group]++;
    for (uint32_t i = op(at).firstOperand; i < op(at).firstOperand + op(at).operandCount; ++i) {
      if (isInput(schema, operand(i))) collective.inputs.push_back(i);
      if (isResult(schema, operand(i))) collective.results.push_back(i);
    }
    collectives.push_back(std::move(collective));
  }
}

void RankRun::findReads() {
  struct Owner {
    uint32_t collective = 0;
    uint32_t result = 0;
  };
  std::unordered_map<int64_t, std::vector<Owner>> owners;  // by storage
  std::set<std::array<int64_t, 4>> seen;                   // collective, result, type, offset
  size_t next = 0;
  for (uint32_t at = 0; at < side.ops.ops.size(); ++at) {
    if (next < collectives.size() && collectives[next].op == at) {
      const Collective& collective = collectives[next];
      for (const uint32_t result : collective.results) {
        owners.erase(operand(result).storage.value);
      }
      for (size_t i = 0; i < collective.results.size(); ++i) {
        const int64_t storage = operand(collective.results[i]).storage.value;
        if (storage != 0) owners[storage].push_back({uint32_t(next), uint32_t(i)});
      }
      ++next;
      continue;
    }
    if (inBackend[at] || owners.empty()) continue;
    const Op& here = op(at);
    const OpFacts& facts = index->facts(here);
    // A view reads nothing: it may be taken before the wait.
    const bool looks = here.kind != OpKind::wrapper && (!facts.movesData || facts.copies);
    const bool waits = here.kind == OpKind::collective;
    for (uint32_t i = here.firstOperand; i < here.firstOperand + here.operandCount; ++i) {
      const Operand& each = operand(i);
      const auto found = owners.find(each.storage.value);
      if (found == owners.end() || !each.fingerprint) continue;
      if (!(looks && isRead(each.role)) && !(waits && isWritten(each.role))) continue;
      for (const Owner& owner : found->second) {
        if (seen.insert({owner.collective, owner.result, each.type.value, each.offset}).second) {
          reads.push_back({owner.collective, owner.result, at, i});
        }
      }
    }
    if (waits) continue;
    for (const Operand& each : side.ops.of(here)) {
      if (each.role == Role::after) owners.erase(each.storage.value);
    }
  }
}

}  // namespace ulpscope
