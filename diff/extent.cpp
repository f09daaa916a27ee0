#include "diff/extent.h"

#include <algorithm>
#include <array>

namespace ulpscope {
namespace {

constexpr int kMostDimensions = 8;  // of both tensors together
constexpr int kMostCases = 256;     // looked at before the answer is "maybe"

/// Is there 0 <= n_i < size_i (of a) and 0 <= m_j < size_j (of b) such that the elements meet?
/// A bounded search over the strides, largest first: what is left of the distance must stay within
/// the reach of the smaller ones.
class Meeting {
 public:
  bool addAll(const TensorType& type, int64_t sign) {
    for (size_t k = 0; k < type.sizes.size(); ++k) {
      if (type.sizes[k] < 2 || type.strides[k] == 0) continue;
      if (count_ == kMostDimensions || type.strides[k] < 0) return false;
      terms_[size_t(count_++)] = {type.strides[k], type.sizes[k] - 1, sign};
    }
    return true;
  }

  /// Can sum(sign_i * stride_i * n_i) reach `distance`?
  bool reaches(int64_t distance) {
    std::sort(terms_.begin(), terms_.begin() + count_,
              [](const Term& x, const Term& y) { return x.stride > y.stride; });
    up_[size_t(count_)] = down_[size_t(count_)] = 0;
    for (int k = count_; k-- > 0;) {
      const Term& term = terms_[size_t(k)];
      const int64_t reach = term.stride * term.most;
      up_[size_t(k)] = up_[size_t(k) + 1] + (term.sign > 0 ? reach : 0);
      down_[size_t(k)] = down_[size_t(k) + 1] + (term.sign < 0 ? reach : 0);
    }
    cases_ = 0;
    return search(0, distance);
  }

 private:
  struct Term {
    int64_t stride = 0, most = 0, sign = 1;
  };

  bool search(int k, int64_t distance) {
    if (distance > up_[size_t(k)] || -distance > down_[size_t(k)]) return false;
    if (k == count_) return distance == 0;
    if (++cases_ > kMostCases) return true;
    const Term& term = terms_[size_t(k)];
    // sign * stride * n must bring the distance into [-down, up] of the terms that follow.
    const int64_t wanted = term.sign > 0 ? distance : -distance;
    const int64_t above = term.sign > 0 ? up_[size_t(k) + 1] : down_[size_t(k) + 1];
    const int64_t below = term.sign > 0 ? down_[size_t(k) + 1] : up_[size_t(k) + 1];
    const int64_t low = wanted - above, high = wanted + below;
    const int64_t first = low <= 0 ? 0 : (low + term.stride - 1) / term.stride;
    const int64_t last = high < 0 ? -1 : std::min(term.most, high / term.stride);
    for (int64_t n = first; n <= last; ++n) {
      if (search(k + 1, distance - term.sign * term.stride * n)) return true;
      if (cases_ > kMostCases) return true;
    }
    return false;
  }

  std::array<Term, kMostDimensions> terms_;
  std::array<int64_t, kMostDimensions + 1> up_{}, down_{};
  int count_ = 0;
  int cases_ = 0;
};

bool sameUnits(const TensorType& a, const TensorType& b) {
  return info(a.dtype).bytes == info(b.dtype).bytes;
}

}  // namespace

Extent extentOf(const TensorType& type) {
  if (type.layout != Layout::strided || type.strides.size() != type.sizes.size()) return {};
  int64_t span = 1, count = 1;
  for (size_t k = 0; k < type.sizes.size(); ++k) {
    if (type.sizes[k] == 0) return {0, true};
    if (type.strides[k] < 0) return {};
    span += (type.sizes[k] - 1) * type.strides[k];
    count *= type.sizes[k];
  }
  return {span, span == count};
}

bool mayOverlap(const TensorType& a, int64_t offsetA, const TensorType& b, int64_t offsetB) {
  const Extent ea = extentOf(a), eb = extentOf(b);
  if (ea.span == 0 || eb.span == 0) return false;
  if (ea.span < 0 || eb.span < 0 || !sameUnits(a, b)) return true;
  if (offsetA + ea.span <= offsetB || offsetB + eb.span <= offsetA) return false;
  if (ea.dense && eb.dense) return true;
  Meeting meeting;
  if (!meeting.addAll(a, 1) || !meeting.addAll(b, -1)) return true;
  return meeting.reaches(offsetB - offsetA);
}

bool covers(const TensorType& outer, int64_t offsetOuter, const TensorType& inner,
            int64_t offsetInner) {
  if (offsetOuter == offsetInner && outer == inner) return true;
  const Extent eo = extentOf(outer), ei = extentOf(inner);
  if (ei.span == 0) return true;
  if (eo.span < 0 || ei.span < 0 || !eo.dense || !sameUnits(outer, inner)) return false;
  return offsetOuter <= offsetInner && offsetInner + ei.span <= offsetOuter + eo.span;
}

}  // namespace ulpscope
