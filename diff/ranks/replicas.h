#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diff/ranks/rank_run.h"
#include "diff/scalar_difference.h"

namespace ulpscope {

/// Which collectives a tensor's values came through.
enum Carried : uint8_t { kCarriesReduced = 1, kCarriesScattered = 2, kCarriesGathered = 4 };

/// The parameters of a rank as its optimizer touches them, and what their gradients came through.
struct Replicas {
  struct Update {
    uint32_t op = 0;       ///< the last op of the step that writes it
    int64_t before = -1;   ///< operand: its value before the first of them
    int64_t after = -1;    ///< operand: its value after the last
    uint8_t carried = 0;   ///< Carried, of the gradient in this step
  };
  struct Parameter {
    TypeId type;
    int64_t storage = 0;
    int64_t offset = 0;
    bool shard = false;      ///< the local part of a tensor that lies across ranks (DTensor)
    uint8_t carried = 0;     ///< of all steps
    std::string group;       ///< of the reduction that its gradient came through; "" none
    std::vector<Update> updates;
  };
  std::vector<Parameter> parameters;  ///< in the order in which the optimizer first touches them
  bool activationCollectives = false; ///< a collective's result goes into arithmetic of the model
  std::vector<bool> influences;       ///< by op: it leads to a collective of floating tensors or to an update
};

Replicas findReplicas(const RankRun& run);

/// An op or scalar of one rank's way to what all share that another rank has not.
struct RankStructure {
  int64_t position = 0;  ///< index in the reference's ops, or of the op before which it stands
  int64_t mine = -1;     ///< op of the reference; -1: it lacks it
  int64_t theirs = -1;   ///< op of the other rank; -1: it lacks it
  bool extra = false;    ///< the other rank has it
  std::string name;      ///< of the op that one of them lacks
  ScalarDifference scalar;  ///< argument empty: none
};

/// Ops that only one of two ranks runs, and scalar arguments that differ where all tensors have the
/// same types, of those that `influence`; views, copies, random draws and the backends' own ops left
/// out. In the reference's order.
std::vector<RankStructure> structuralDifferences(const RankRun& reference,
                                                 const std::vector<bool>& influence,
                                                 const RankRun& other,
                                                 const std::vector<bool>& otherInfluence);

}  // namespace ulpscope
