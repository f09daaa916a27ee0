#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "store/records.h"

namespace ulpscope {

/// Which module an op belongs to.
class ModuleIndex {
 public:
  /// `regions` in order of id.
  explicit ModuleIndex(const std::vector<Region>& regions);

  /// The innermost module region that encloses `region` or is it; none where there is none.
  RegionId moduleOf(RegionId region) const;

  /// Ops of the forward pass, to be told in order of id.
  void addForward(const Op& op);
  /// The module of the forward op that `op` differentiates.
  RegionId moduleOfForward(const Op& op) const;

 private:
  struct ForwardKey {
    uint32_t thread;
    int64_t sequence;
    friend bool operator==(const ForwardKey&, const ForwardKey&) = default;
  };
  struct ForwardHash {
    size_t operator()(const ForwardKey& key) const {
      return static_cast<size_t>(key.sequence) * 0x9e3779b97f4a7c15 + key.thread;
    }
  };
  std::unordered_map<RegionId, RegionId> modules_;
  std::unordered_map<ForwardKey, RegionId, ForwardHash> forward_;
};

}  // namespace ulpscope
