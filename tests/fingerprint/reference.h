#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "fingerprint/fingerprint.h"

namespace ulpscope::test {

/// Statistics and sketch by docs/fingerprint.md, one component at a time, sharing no code with the
/// library. `bytes` are the logical elements in row-major order.
struct Reference {
  Statistics statistics;
  Sketch sketch;
};
Reference reference(const std::vector<uint8_t>& bytes, DType dtype);

/// Value of component i of packed elements, as the documentation defines it.
double componentAt(const std::vector<uint8_t>& bytes, DType dtype, size_t i);

/// Every dtype with elements.
std::vector<DType> allDTypes();

/// Fingerprint of packed elements at Level::full.
Fingerprint fingerprintOf(const void* data, DType dtype, int64_t elements);
template <typename T>
Fingerprint fingerprintOf(const std::vector<T>& values, DType dtype) {
  return fingerprintOf(values.data(), dtype,
                       static_cast<int64_t>(values.size() * sizeof(T) / info(dtype).bytes));
}

/// Bytes of elements with every kind of value: random bits (so NaN, infinities and subnormals of
/// narrow formats) between runs of moderate numbers, zeros and negative zeros.
std::vector<uint8_t> mixedBytes(DType dtype, size_t elements, uint64_t seed);

/// Moderate finite values only.
std::vector<uint8_t> finiteBytes(DType dtype, size_t elements, uint64_t seed);

/// Equal bit for bit, NaN included.
::testing::AssertionResult sameBits(const Statistics& a, const Statistics& b);
::testing::AssertionResult sameBits(const Sketch& a, const Sketch& b);

}  // namespace ulpscope::test
