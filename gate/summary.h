#pragma once

#include <string>
#include <vector>

#include "diff/result.h"

namespace ulpscope::gate {

/// How one kind of op came out: what an upgrade that changes everything is summed up by.
struct OpSummary {
  std::string op;
  int64_t pairs = 0;
  int64_t starts = 0;      ///< origin, source
  int64_t carries = 0;     ///< propagated
  int64_t structural = 0;
  float worst = 0;         ///< relative error; 0 where none is known
  int64_t differing() const { return starts + carries + structural; }
};

/// One entry for each kind of op that differs somewhere, those with most starts first.
std::vector<OpSummary> summarise(const DiffResult& result);

}  // namespace ulpscope::gate
