#pragma once

#include <array>

#include "store/records.h"

namespace ulpscope {

/// Counts coverage, operand by operand.
class CoverageCounter {
 public:
  /// Kernel calls count as kernels; entries of compiled regions as neither kernels nor ops, for
  /// they only enclose what runs.
  void add(OpKind kind) {
    if (kind == OpKind::kernel) {
      ++kernels_;
    } else if (kind != OpKind::compiled) {
      ++ops_;
    }
  }
  void add(Role role, SkipReason skip, Closure closure, bool fingerprinted) {
    ++tensors_;
    if (fingerprinted && skip == SkipReason::none) {
      ++hashed_;
    } else {
      ++skipped_[static_cast<uint8_t>(skip)];
    }
    // What an op read: outputs have no earlier writer to agree with.
    if (role == Role::input || role == Role::before) ++closure_[static_cast<uint8_t>(closure) & 3];
  }
  Coverage result() const {
    Coverage coverage;
    coverage.ops = ops_;
    coverage.kernels = kernels_;
    coverage.tensors = tensors_;
    coverage.hashed = hashed_;
    for (size_t i = 0; i < skipped_.size(); ++i) {
      if (skipped_[i] == 0) continue;
      coverage.skipped.emplace_back(name(static_cast<SkipReason>(i)), skipped_[i]);
    }
    coverage.closureUnchecked = closure_[static_cast<size_t>(Closure::unchecked)];
    coverage.closureSource = closure_[static_cast<size_t>(Closure::source)];
    coverage.closureMatched = closure_[static_cast<size_t>(Closure::matched)];
    coverage.closureBroken = closure_[static_cast<size_t>(Closure::broken)];
    return coverage;
  }

 private:
  uint64_t ops_ = 0, kernels_ = 0, tensors_ = 0, hashed_ = 0;
  std::array<uint64_t, 256> skipped_{};
  std::array<uint64_t, 4> closure_{};
};

}  // namespace ulpscope
