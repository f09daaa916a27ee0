#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "diff/result.h"
#include "gui/models/fold_tree.h"

namespace ulpscope::gui {

enum class SideName : uint8_t { a = 0, b = 1 };

/// Answers "which pair holds this op" and "who reads what this op wrote", for one side.
struct SideIndex {
  std::vector<uint32_t> pairOfOp;       ///< by op index; kNoPair where none
  std::vector<uint32_t> consumerStart;  ///< [ops + 1], into consumers
  std::vector<uint32_t> consumers;      ///< op indices, ascending for each producer
};
inline constexpr uint32_t kNoPair = UINT32_MAX;

/// What one window shows: a diff of two traces, or one trace alone (each of its ops is then a pair
/// without a B side, labelled identical). Made on a worker thread and never changed afterwards.
/// Its Readers are for one thread at a time: after it is handed over, the GUI's.
struct Document {
  DiffResult result;
  bool single = false;
  std::string mapFile;  ///< the mapping file that the diff was made with, or ""
  FoldTree tree;
  std::array<SideIndex, 2> index;

  const Side& side(SideName which) const { return which == SideName::a ? result.a : result.b; }
  const std::vector<Pair>& pairs() const { return result.pairs; }
  std::span<const uint32_t> members(const Pair& pair, SideName which) const {
    return which == SideName::a ? result.opsA(pair) : result.opsB(pair);
  }
  /// The pair that holds an op; kNoPair where the side has no such op.
  uint32_t pairOf(SideName which, OpId id) const;
  /// Index of an op in its side's table, or -1. Ops are in order of id: a binary search.
  int64_t opIndex(SideName which, OpId id) const;
  std::span<const uint32_t> consumersOf(SideName which, uint32_t op) const;
  /// The pair to open on: the first divergence, else the first pair; kNoPair in an empty document.
  uint32_t opening() const;
};

/// Builds tree and indexes over a finished diff. `keepGoing` is asked now and then; where it says
/// no, Cancelled (diff/diff.h) is thrown.
std::shared_ptr<const Document> makeDocument(DiffResult result, const std::string& mapFile,
                                             const std::function<bool()>& keepGoing);

/// One trace as a document. Throws TraceError and Cancelled.
std::shared_ptr<const Document> openTrace(const std::string& path,
                                          const std::function<bool(double)>& progress);

}  // namespace ulpscope::gui
