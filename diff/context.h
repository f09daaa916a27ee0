#pragma once

#include <memory>
#include <vector>

#include "diff/expected.h"
#include "diff/growth.h"

namespace ulpscope {

/// What the engine keeps beside a DiffResult, so that a pair can be explained later without reading
/// the traces again. Holds spans of the result's op tables: valid as long as those are.
struct DiffContext {
  Mapping mapping;
  std::unique_ptr<SideIndex> indexA, indexB;
  std::vector<Unit> unitsA, unitsB;
  Producers producersA, producersB;
  std::unique_ptr<AlignedSide> a, b;
  Pairing pairing;
  Judgement judgement;
  std::unique_ptr<ExpectedReasons> expected;
  Growth growth;
  std::unique_ptr<ValueComparer> values;
  std::unique_ptr<OperandMatcher> matcher;
};

}  // namespace ulpscope
