#pragma once

#include <cstdint>
#include <string>

namespace ulpscope::testing {

/// Two traces of a small transformer's training, one plain and one with fused kernels, whose truth is
/// known: everything agrees until `originOp` of block 1 in the forward of `originStep`, which differs with
/// equal inputs; what reads its value differs too.
struct SampleOptions {
  int blocks = 2;
  int steps = 2;
  int originStep = 0;
  bool fused = true;      ///< B runs gelu and the add after the block as kernels
  bool equal = false;     ///< B's values are A's
  bool extraOp = false;   ///< B has one op more, in step 0
  bool finished = true;   ///< with the clean-end mark
};

inline constexpr const char* kSampleOrigin = "aten::gelu";
inline constexpr const char* kSampleOriginModule = "transformer.h.1.mlp.act";

void writeSampleA(const std::string& path, const SampleOptions& options = {});
void writeSampleB(const std::string& path, const SampleOptions& options = {});

}  // namespace ulpscope::testing
