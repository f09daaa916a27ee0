#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "diff/keys.h"

/// Alignment of two sequences of units by structure alone.
namespace ulpscope {

/// What an alignment may cost. The counts are deterministic, so that the same two traces always
/// give the same answer, on any machine.
struct Budget {
  int64_t cells = 200'000'000;     ///< of the edit distance's tables, over the whole diff
  int64_t windowCells = 4'000'000; ///< of one table
  int64_t snakeSteps = 200'000'000; ///< of Myers' algorithm, over the whole diff
  bool exceeded = false;           ///< some stretch was aligned coarsely
};

/// Partners of units, by index in the two sides' lists of units; -1: none.
struct Alignment {
  std::vector<int32_t> toB;
  std::vector<int32_t> toA;
  std::vector<Method> method;  ///< by unit of A

  Alignment(size_t a, size_t b) : toB(a, -1), toA(b, -1), method(a, Method::none) {}
  void join(uint32_t a, uint32_t b, Method how) {
    toB[a] = int32_t(b);
    toA[b] = int32_t(a);
    method[a] = how;
  }
  void part(uint32_t a) {
    toA[size_t(toB[a])] = -1;
    toB[a] = -1;
    method[a] = Method::none;
  }
};

/// Some units of each side, by index, in the order to align them.
struct Window {
  std::span<const uint32_t> a;
  std::span<const uint32_t> b;
};

/// Aligns a window, monotonically: equal ends first, then keys that are unique on both sides (in
/// patience order), recursively and from the strictest key to the loosest; then Myers' differences;
/// then, in what is left, the edit distance with soft costs. Past the budget: coarsely, by order.
void alignWindow(const std::vector<Unit>& a, const std::vector<Unit>& b, Window window,
                 Alignment& alignment, Budget& budget);

/// The coarse answer: the n-th unit of a key with the n-th of that key, kept where they don't cross.
void alignCoarsely(const std::vector<Unit>& a, const std::vector<Unit>& b, Window window,
                   Alignment& alignment);

/// Positions in `values` of a longest strictly increasing subsequence.
std::vector<uint32_t> longestIncreasing(std::span<const uint32_t> values);

}  // namespace ulpscope
