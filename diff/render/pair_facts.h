#pragma once

#include <string>
#include <vector>

#include "diff/result.h"

namespace ulpscope {

/// The ops of one side of a pair, for a line in a list.
struct PairSide {
  OpId id;            ///< of the first op; none where the side is empty
  std::string op;     ///< "aten::mm", or the kernel's name
  uint32_t more = 0;  ///< ops of the group beside the first
};

/// What a list shows of one pair beside the pair itself.
struct PairFacts {
  PairSide a, b;
  std::string module;
  std::string line;     ///< "train.py:11", "" where no source line is known
  std::string operand;  ///< "f32[2, 64]" of the operand that decided, or of the first output
  int32_t step = 0;
  Phase phase = Phase::other;
};

/// Looks up pairs of one result, which must outlive it. Without readers (a made-up result) names are
/// left out. Throws TraceError for a damaged trace.
class PairFactsReader {
 public:
  explicit PairFactsReader(const DiffResult& result) : result_(result) {}
  PairFacts read(size_t pair) const;

 private:
  const DiffResult& result_;
};

}  // namespace ulpscope
