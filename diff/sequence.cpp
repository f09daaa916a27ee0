#include "diff/sequence.h"

#include <algorithm>
#include <unordered_map>

#include "diff/edit_distance.h"

namespace ulpscope {
namespace {

class WindowAligner {
 public:
  WindowAligner(const std::vector<Unit>& a, const std::vector<Unit>& b, Alignment& alignment,
                Budget& budget)
      : a_(a), b_(b), alignment_(alignment), budget_(budget) {}

  void align(Window window, int level) {
    if (level > kLastExact && cellsOf(window) <= kSmallCells) {
      // Among few units the soft costs choose better than equality under a loose key.
      byEditDistance(window);
      return;
    }
    if (level != kPlaceLevel) trim(window, level);
    if (window.a.empty() || window.b.empty()) return;
    if (const std::vector<Cut> anchors = uniqueAnchors(window, level); !anchors.empty()) {
      split(window, anchors, level, Method::anchor);
      return;
    }
    const int64_t cells = cellsOf(window);
    if (cells > budget_.windowCells && level != kPlaceLevel) {
      // Too large for a table: the differences of the whole, then the gaps between them.
      std::vector<Cut> common;
      if (differences(window, level, common) && !common.empty()) {
        split(window, common, std::min(level + 1, Unit::kLevels - 1), Method::edit);
        return;
      }
    }
    if (level + 1 < Unit::kLevels) {
      align(window, level + 1);
    } else if (cells <= budget_.windowCells && cells <= budget_.cells) {
      byEditDistance(window);
    } else {
      budget_.exceeded = true;
      alignCoarsely(a_, b_, window, alignment_);
    }
  }

 private:
  static constexpr int kPlaceLevel = 3;  // knows no types: only a key that is unique says something
  static constexpr int kLastExact = 4;  // looser levels know neither line nor makers of inputs
  static constexpr int64_t kSmallCells = 100'000;

  static int64_t cellsOf(const Window& window) {
    return int64_t(window.a.size()) * int64_t(window.b.size());
  }
  void byEditDistance(const Window& window) {
    budget_.cells -= cellsOf(window);
    alignByEditDistance(a_, b_, window, alignment_);
  }

  struct Cut {  // positions in the window
    uint32_t a;
    uint32_t b;
  };
  uint64_t keyA(const Window& w, size_t i, int level) const { return a_[w.a[i]].key(level); }
  uint64_t keyB(const Window& w, size_t j, int level) const { return b_[w.b[j]].key(level); }

  void trim(Window& window, int level) {
    while (!window.a.empty() && !window.b.empty() && keyA(window, 0, level) == keyB(window, 0, level)) {
      alignment_.join(window.a.front(), window.b.front(), Method::anchor);
      window.a = window.a.subspan(1);
      window.b = window.b.subspan(1);
    }
    while (!window.a.empty() && !window.b.empty() &&
           keyA(window, window.a.size() - 1, level) == keyB(window, window.b.size() - 1, level)) {
      alignment_.join(window.a.back(), window.b.back(), Method::anchor);
      window.a = window.a.first(window.a.size() - 1);
      window.b = window.b.first(window.b.size() - 1);
    }
  }

  std::vector<Cut> uniqueAnchors(const Window& window, int level) const {
    struct Seen {
      uint32_t a = 0, b = 0;
      uint8_t countA = 0, countB = 0;
    };
    std::unordered_map<uint64_t, Seen> seen;
    seen.reserve(window.a.size());
    for (uint32_t i = 0; i < window.a.size(); ++i) {
      Seen& entry = seen[keyA(window, i, level)];
      entry.a = i;
      entry.countA = uint8_t(std::min(2, entry.countA + 1));
    }
    for (uint32_t j = 0; j < window.b.size(); ++j) {
      const auto found = seen.find(keyB(window, j, level));
      if (found == seen.end()) continue;
      found->second.b = j;
      found->second.countB = uint8_t(std::min(2, found->second.countB + 1));
    }
    std::vector<Cut> cuts;
    for (uint32_t i = 0; i < window.a.size(); ++i) {
      const Seen& entry = seen[keyA(window, i, level)];
      if (entry.countA == 1 && entry.countB == 1) cuts.push_back({i, entry.b});
    }
    std::vector<uint32_t> order(cuts.size());
    std::transform(cuts.begin(), cuts.end(), order.begin(), [](const Cut& cut) { return cut.b; });
    std::vector<Cut> kept;
    for (const uint32_t k : longestIncreasing(order)) kept.push_back(cuts[k]);
    return kept;
  }

  void split(const Window& window, const std::vector<Cut>& cuts, int level, Method method) {
    uint32_t a = 0, b = 0;
    const auto between = [&](uint32_t endA, uint32_t endB) {
      if (endA > a && endB > b) {
        align({window.a.subspan(a, endA - a), window.b.subspan(b, endB - b)}, level);
      }
    };
    for (const Cut& cut : cuts) {
      between(cut.a, cut.b);
      alignment_.join(window.a[cut.a], window.b[cut.b], method);
      a = cut.a + 1;
      b = cut.b + 1;
    }
    between(uint32_t(window.a.size()), uint32_t(window.b.size()));
  }

  /// Myers 1986: the longest common subsequence in O((n + m) d). False where d is past the budget.
  bool differences(const Window& window, int level, std::vector<Cut>& common) {
    const int64_t n = int64_t(window.a.size()), m = int64_t(window.b.size());
    const int64_t most = std::min<int64_t>({2000, n + m, budget_.snakeSteps / (n + m + 1)});
    std::vector<std::vector<int32_t>> rows;  // furthest x on each diagonal, after each d
    std::vector<int32_t> furthest(size_t(2 * most + 3), 0);
    const int64_t zero = most + 1;
    for (int64_t d = 0; d <= most; ++d) {
      for (int64_t k = -d; k <= d; k += 2) {
        const bool down = k == -d || (k != d && furthest[size_t(zero + k - 1)] <
                                                    furthest[size_t(zero + k + 1)]);
        int64_t x = down ? furthest[size_t(zero + k + 1)] : furthest[size_t(zero + k - 1)] + 1;
        int64_t y = x - k;
        while (x < n && y < m && x >= 0 && y >= 0 &&
               keyA(window, size_t(x), level) == keyB(window, size_t(y), level)) {
          ++x;
          ++y;
        }
        furthest[size_t(zero + k)] = int32_t(x);
        if (x >= n && y >= m) {
          budget_.snakeSteps -= (n + m) * (d + 1);
          trace(window, level, rows, d, k, n, m, common);
          return true;
        }
      }
      rows.emplace_back(furthest.begin() + (zero - d), furthest.begin() + (zero + d + 1));
    }
    budget_.snakeSteps -= (n + m) * most;
    return false;
  }

  void trace(const Window& window, int level, const std::vector<std::vector<int32_t>>& rows,
             int64_t d, int64_t k, int64_t x, int64_t y, std::vector<Cut>& common) const {
    for (; d > 0; --d) {
      const std::vector<int32_t>& before = rows[size_t(d - 1)];  // diagonals -(d-1) .. d-1
      const auto at = [&](int64_t diagonal) {
        const int64_t index = diagonal + (d - 1);
        return index >= 0 && index < int64_t(before.size()) ? before[size_t(index)] : -1;
      };
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int64_t previous = down ? k + 1 : k - 1;
      const int64_t startX = at(previous);
      const int64_t startY = startX - previous;
      const int64_t midX = down ? startX : startX + 1;
      while (x > midX) common.push_back({uint32_t(--x), uint32_t(--y)});
      x = startX;
      y = startY;
      k = previous;
    }
    while (x > 0 && y > 0 &&
           keyA(window, size_t(x - 1), level) == keyB(window, size_t(y - 1), level)) {
      common.push_back({uint32_t(--x), uint32_t(--y)});
    }
    std::reverse(common.begin(), common.end());
  }

  const std::vector<Unit>& a_;
  const std::vector<Unit>& b_;
  Alignment& alignment_;
  Budget& budget_;
};

}  // namespace

void alignWindow(const std::vector<Unit>& a, const std::vector<Unit>& b, Window window,
                 Alignment& alignment, Budget& budget) {
  WindowAligner(a, b, alignment, budget).align(window, 0);
}

}  // namespace ulpscope
