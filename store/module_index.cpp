#include "store/module_index.h"

namespace ulpscope {

ModuleIndex::ModuleIndex(const std::vector<Region>& regions) {
  std::unordered_map<RegionId, const Region*> byId;
  byId.reserve(regions.size());
  for (const Region& region : regions) byId.emplace(region.id, &region);

  modules_.reserve(regions.size());
  std::vector<RegionId> chain;
  for (const Region& region : regions) {
    chain.clear();
    RegionId module;
    for (const Region* at = &region; at != nullptr;) {
      if (const auto known = modules_.find(at->id); known != modules_.end()) {
        module = known->second;
        break;
      }
      if (at->kind == RegionKind::module) {
        module = at->id;
        modules_.emplace(at->id, module);
        break;
      }
      chain.push_back(at->id);
      modules_.emplace(at->id, RegionId{});  // ends the walk where a damaged file has a cycle
      const auto parent = byId.find(at->parent);
      at = parent != byId.end() ? parent->second : nullptr;
    }
    for (RegionId id : chain) modules_[id] = module;
  }
}

RegionId ModuleIndex::moduleOf(RegionId region) const {
  const auto found = modules_.find(region);
  return found != modules_.end() ? found->second : RegionId{};
}

void ModuleIndex::addForward(const Op& op) {
  if (op.sequence < 0 || op.phase == Phase::backward) return;
  // Several ops can carry one number (it goes up only where a node is made): the last made the
  // node.
  forward_[{op.thread, op.sequence}] = moduleOf(op.region);
}

RegionId ModuleIndex::moduleOfForward(const Op& op) const {
  if (op.sequence < 0) return {};
  const auto found = forward_.find({op.forwardThread, op.sequence});
  return found != forward_.end() ? found->second : RegionId{};
}

}  // namespace ulpscope
