#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "diff/dataflow.h"
#include "diff/side_index.h"

namespace ulpscope {

/// A folder that holds no run of ranks; what() is one line that says what to do.
class RunFolderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RankFile {
  int rank = 0;
  int world = 1;  ///< 1 where the process was none of a distributed job
  std::string path;
};

/// The traces of a folder, one a rank, in order of rank. A trace of a process that was no rank
/// counts as rank 0 where it is alone, and is left out beside ranks. Throws RunFolderError where
/// there is none, or two of one rank; TraceError for a damaged trace.
std::vector<RankFile> findRanks(const std::string& folder);

enum class CollectiveKind : uint8_t {
  allReduce, broadcast, allGather, reduceScatter, reduce, gather, scatter, allToAll, barrier,
};
std::string_view name(CollectiveKind kind);

struct ProcessGroup {
  std::string name;          ///< as all its members know it
  std::vector<int> members;  ///< global ranks, ascending; empty: unknown
};

/// One call of a collective by one rank.
struct Collective {
  uint32_t op = 0;  ///< index in the rank's op table
  CollectiveKind kind = CollectiveKind::barrier;
  uint32_t group = 0;      ///< index in RankRun::groups
  int64_t sequence = 0;    ///< of this rank's calls in this group, from 0
  std::string reduction;   ///< "sum"; "" where nothing is reduced
  int root = -1;           ///< as the program gave it; -1: none
  std::vector<uint32_t> inputs;   ///< what the rank brings in, indices in the operand table
  std::vector<uint32_t> results;  ///< what it gets: each storage counts as written when it is waited for
};

/// Do all ranks of the group get the same result?
inline bool equalResults(CollectiveKind kind) {
  return kind == CollectiveKind::allReduce || kind == CollectiveKind::broadcast ||
         kind == CollectiveKind::allGather;
}

/// A read of what a collective left in memory, after the wait: the only place where its result is seen.
struct ResultRead {
  uint32_t collective = 0;  ///< index in RankRun::collectives
  uint32_t result = 0;      ///< index in Collective::results
  uint32_t op = 0;
  uint32_t operand = 0;
};

/// A trace with what belongs to it, and its collectives. Not movable: the index holds spans.
struct RankRun {
  explicit RankRun(const RankFile& file);
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;

  const Op& op(uint32_t at) const { return side.ops.ops[at]; }
  const Operand& operand(uint32_t at) const { return side.ops.operands[at]; }
  const TensorType& type(uint32_t at) const { return side.reader->type(operand(at).type); }

  int rank = 0;
  int world = 1;
  Side side;
  std::unique_ptr<SideIndex> index;
  Producers producers;
  std::vector<ProcessGroup> groups;
  std::vector<Collective> collectives;  ///< in program order
  std::vector<ResultRead> reads;        ///< the first of each view of each result, in program order
  /// By op: it belongs to a backend's own work (gloo copies and divides through ops of its own).
  std::vector<bool> inBackend;

 private:
  void findBackendOps();
  void findCollectives();
  void findReads();
  uint32_t groupNamed(const std::string& text);
};

}  // namespace ulpscope
