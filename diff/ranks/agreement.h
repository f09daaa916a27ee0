#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diff/result.h"

namespace ulpscope {

/// Something on which ranks of one run do not agree though they must.
struct Disagreement {
  enum class Kind : uint8_t {
    order,      ///< a collective that a rank issued and others of its group did not, or another one
    form,       ///< a collective of another dtype, size, reduction or root
    structure,  ///< an op that a rank runs and others do not, on the way to a collective or an update
    scalar,     ///< a scalar argument of another value, on that way
    start,      ///< a replicated parameter differs before the first step
    parameter,  ///< a replicated parameter differs after a step
    result,     ///< the result of a collective differs
    healed,     ///< values that differ and that a broadcast makes equal
  };
  struct Place {
    int rank = 0;
    OpId id;  ///< none: the rank has no such op
    std::string op;
    std::string value;  ///< the scalar, or what is said of the tensor
    Stack stack;
  };
  Kind kind = Kind::order;
  std::vector<int> ranks;  ///< that depart from the others
  Place departs;           ///< the first of them
  Place others;            ///< one of the ranks that agree
  int32_t step = 0;
  Phase phase = Phase::other;
  std::string module;
  std::string group;        ///< of a collective
  int64_t sequence = -1;    ///< of the collective in its group
  std::string explanation;  ///< one sentence
  double order = 0;         ///< for sorting: where in the program
};
std::string_view name(Disagreement::Kind kind);

struct RanksResult {
  struct Rank {
    int rank = 0;
    std::string path;
    int64_t ops = 0;
    int64_t collectives = 0;
    bool complete = false;
  };
  struct Group {
    std::string name;
    std::vector<int> ranks;
    int64_t collectives = 0;
  };
  std::string folder;
  int world = 0;
  std::vector<Rank> ranks;
  std::vector<Group> groups;
  Verdict verdict = Verdict::identical;
  std::string notComparableReason;
  std::vector<Disagreement> found;   ///< the first of each kind and tensor, in program order
  std::vector<Disagreement> healed;
  int64_t collectives = 0, results = 0, parameters = 0, updates = 0, ops = 0;  ///< compared
  std::vector<std::string> notes;  ///< what was not checked and why
};

/// Do the ranks of a folder agree where they must: order and form of collectives in each group,
/// results of all-reduce, broadcast and all-gather, replicated parameters before the first step and
/// after each, and the ops that lead there. What must agree is derived from structure alone. Throws
/// RunFolderError and TraceError.
RanksResult checkRanks(const std::string& folder);

}  // namespace ulpscope
