#include "diff/edit_distance.h"

#include <limits>

namespace ulpscope {

float pairCost(const Unit& a, const Unit& b, const EditCosts& costs) {
  if (a.name != b.name) return std::numeric_limits<float>::infinity();
  float cost = 0;
  const bool bothWhole = a.source < 0 && b.source < 0;  // a source knows no types, no overload
  if (bothWhole) {
    // Nothing in common but the name.
    if (a.types != b.types && a.scalars != b.scalars && a.line != b.line && a.path != b.path) {
      return std::numeric_limits<float>::infinity();
    }
    if (a.variant != b.variant) cost += costs.variant;
    if (a.types != b.types) cost += costs.types;
    if (a.scalars != b.scalars) cost += costs.scalars;
  }
  if (a.path != 0 && b.path != 0 && a.path != b.path) {
    cost += costs.path;
    if (a.leaf != b.leaf) cost += costs.leaf;
  }
  if (a.line != 0 && b.line != 0 && a.line != b.line) cost += costs.line;
  if (a.phase != b.phase) cost += costs.phase;
  return cost;
}

void alignByEditDistance(const std::vector<Unit>& a, const std::vector<Unit>& b, Window window,
                         Alignment& alignment) {
  const EditCosts costs;
  const size_t n = window.a.size(), m = window.b.size();
  enum : uint8_t { kPair, kGapA, kGapB };
  std::vector<uint8_t> choice(n * m);
  std::vector<float> above(m + 1), row(m + 1);
  const auto gap = [&](const Unit& unit) { return unit.movesData ? costs.gapMovesData : costs.gap; };

  above[0] = 0;
  for (size_t j = 0; j < m; ++j) above[j + 1] = above[j] + gap(b[window.b[j]]);
  for (size_t i = 0; i < n; ++i) {
    const Unit& ua = a[window.a[i]];
    const float gapA = gap(ua);
    row[0] = above[0] + gapA;
    for (size_t j = 0; j < m; ++j) {
      const Unit& ub = b[window.b[j]];
      float best = above[j + 1] + gapA;
      uint8_t how = kGapA;
      if (const float other = row[j] + gap(ub); other < best) {
        best = other;
        how = kGapB;
      }
      if (ua.name == ub.name) {
        // At equal cost a pair is the better story.
        if (const float pair = above[j] + pairCost(ua, ub, costs); pair <= best) {
          best = pair;
          how = kPair;
        }
      }
      row[j + 1] = best;
      choice[i * m + j] = how;
    }
    above.swap(row);
  }
  for (size_t i = n, j = m; i > 0 && j > 0;) {
    const uint8_t how = choice[(i - 1) * m + (j - 1)];
    if (how == kPair) {
      alignment.join(window.a[--i], window.b[--j], Method::edit);
    } else if (how == kGapA) {
      --i;
    } else {
      --j;
    }
  }
}

}  // namespace ulpscope
