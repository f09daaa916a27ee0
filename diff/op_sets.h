#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "diff/groups.h"

namespace ulpscope {

/// Sets of ops of both sides that belong together, and the method by which each op found its set.
class OpSets {
 public:
  OpSets(size_t opsA, size_t opsB)
      : opsA_(opsA), parent_(opsA + opsB), size_(opsA + opsB, 1),
        methods_(opsA + opsB, Method::none) {
    std::iota(parent_.begin(), parent_.end(), uint32_t(0));
  }

  /// Ops of A are 0..n-1, ops of B follow.
  uint32_t node(bool ofA, uint32_t op) const { return ofA ? op : uint32_t(opsA_) + op; }
  size_t nodes() const { return parent_.size(); }

  uint32_t find(uint32_t x) {
    while (parent_[x] != x) {
      parent_[x] = parent_[parent_[x]];
      x = parent_[x];
    }
    return x;
  }
  /// Leaves the two apart where together they would not fit a Pair.
  void join(uint32_t x, uint32_t y) {
    x = find(x);
    y = find(y);
    if (x == y || size_[x] + size_[y] > std::numeric_limits<uint16_t>::max()) return;
    if (size_[x] < size_[y]) std::swap(x, y);
    parent_[y] = x;
    size_[x] += size_[y];
  }
  uint32_t size(uint32_t x) { return size_[find(x)]; }

  Method& method(uint32_t node) { return methods_[node]; }

 private:
  size_t opsA_;
  std::vector<uint32_t> parent_;
  std::vector<uint32_t> size_;
  std::vector<Method> methods_;
};

/// Units without a partner so far, by unit.
struct Lost {
  std::vector<bool> a;
  std::vector<bool> b;
  const std::vector<bool>& of(bool ofA) const { return ofA ? a : b; }
  std::vector<bool>& of(bool ofA) { return ofA ? a : b; }
};

}  // namespace ulpscope
