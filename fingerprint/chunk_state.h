#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "fingerprint/sketch_hash.h"

namespace ulpscope {

/// The sums of one chunk, lane by lane; T is what components are read as, float or double.
/// Component i is in lane i mod 16, and each lane adds its components in order.
template <typename T>
struct ChunkState {
  alignas(64) std::array<double, kLanes> sum{};
  alignas(64) std::array<double, kLanes> negative{};  ///< sum of what is below 0
  alignas(64) std::array<double, kLanes> squares{};
  alignas(64) std::array<T, kLanes> min;
  alignas(64) std::array<T, kLanes> max;
  uint64_t nan = 0;
  uint64_t positiveInfinity = 0;
  uint64_t negativeInfinity = 0;
  uint64_t zero = 0;
  uint64_t negativeZero = 0;
  uint64_t subnormal = 0;

  ChunkState() {
    min.fill(std::numeric_limits<T>::infinity());
    max.fill(-std::numeric_limits<T>::infinity());
  }
};

}  // namespace ulpscope
