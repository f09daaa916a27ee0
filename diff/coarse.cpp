#include <algorithm>
#include <unordered_map>

#include "diff/sequence.h"

namespace ulpscope {

std::vector<uint32_t> longestIncreasing(std::span<const uint32_t> values) {
  std::vector<uint32_t> tails;  // position of the smallest last value of each length
  std::vector<int32_t> before(values.size(), -1);
  for (uint32_t i = 0; i < values.size(); ++i) {
    const auto at = std::lower_bound(
        tails.begin(), tails.end(), values[i],
        [&](uint32_t position, uint32_t value) { return values[position] < value; });
    if (at != tails.begin()) before[i] = int32_t(*(at - 1));
    if (at == tails.end()) tails.push_back(i);
    else *at = i;
  }
  std::vector<uint32_t> result(tails.size());
  int32_t at = tails.empty() ? -1 : int32_t(tails.back());
  for (size_t k = tails.size(); k-- > 0;) {
    result[k] = uint32_t(at);
    at = before[size_t(at)];
  }
  return result;
}

void alignCoarsely(const std::vector<Unit>& a, const std::vector<Unit>& b, Window window,
                   Alignment& alignment) {
  // Strict keys first, so that a module that is unique keeps its place; the loose key fills in.
  std::unordered_map<uint64_t, std::vector<uint32_t>> places;
  for (uint32_t j = 0; j < window.b.size(); ++j) places[b[window.b[j]].key(5)].push_back(j);
  std::unordered_map<uint64_t, size_t> seen;
  std::vector<uint32_t> positionsA, positionsB;
  for (uint32_t i = 0; i < window.a.size(); ++i) {
    const uint64_t key = a[window.a[i]].key(5);
    const auto found = places.find(key);
    const size_t nth = seen[key]++;
    if (found == places.end() || nth >= found->second.size()) continue;
    positionsA.push_back(i);
    positionsB.push_back(found->second[nth]);
  }
  for (const uint32_t k : longestIncreasing(positionsB)) {
    alignment.join(window.a[positionsA[k]], window.b[positionsB[k]], Method::coarse);
  }
}

}  // namespace ulpscope
