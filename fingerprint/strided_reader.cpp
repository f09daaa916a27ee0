#include "fingerprint/strided_reader.h"

#include <algorithm>
#include <cstring>

#include "fingerprint/strided_copy.h"

namespace ulpscope {

StridedReader::StridedReader(const StridedView& view) noexcept
    : at_(static_cast<const char*>(view.data)),
      elementBytes_(info(view.dtype).bytes),
      dtype_(view.dtype) {
  if (view.data == nullptr || elementBytes_ == 0) return;
  int64_t elements = 1;
  for (int d = 0; d < view.dim; ++d) {
    if (view.sizes[d] <= 0 || __builtin_mul_overflow(elements, view.sizes[d], &elements)) return;
  }
  elements_ = elements;
  conjugate_ = view.conjugate && info(dtype_).kind == NumberKind::complex;
  negative_ = view.negative;
  if (view.strides == nullptr && !conjugate_ && !negative_) return;
  collapse(view);
  const bool dense = dims_ == 0 || (dims_ == 1 && dimension_[0].stride == elementBytes_);
  inPlace_ = dense && !conjugate_ && !negative_;
}

void StridedReader::collapse(const StridedView& view) noexcept {
  int64_t contiguousStride = elementBytes_;
  for (int d = view.dim - 1; d >= 0; --d) {
    const int64_t size = view.sizes[d];
    const int64_t stride =
        view.strides == nullptr ? contiguousStride : view.strides[d] * elementBytes_;
    contiguousStride *= size;
    if (size == 1) continue;
    if (dims_ != 0) {
      Dimension& inner = dimension_[static_cast<size_t>(dims_ - 1)];
      if (stride == inner.stride * inner.size) {
        inner.size *= size;
        continue;
      }
    }
    dimension_[static_cast<size_t>(dims_)] = {size, stride};
    index_[static_cast<size_t>(dims_)] = 0;
    ++dims_;
  }
  if (dims_ == 0) {
    dimension_[0] = {1, elementBytes_};
    index_[0] = 0;
    dims_ = 1;
  }
}

const void* StridedReader::next(int64_t count, void* buffer) noexcept {
  if (inPlace_) {
    const char* result = at_;
    at_ += count * elementBytes_;
    return result;
  }
  pack(count, static_cast<char*>(buffer));
  if (conjugate_ || negative_) {
    applyLazyBits(buffer, count, dtype_, conjugate_, negative_);
  }
  return buffer;
}

void StridedReader::pack(int64_t count, char* to) noexcept {
  const Dimension inner = dimension_[0];
  while (count != 0) {
    if (index_[0] != 0 || count < inner.size || dims_ == 1) {
      // Part of one row.
      const int64_t run = std::min(count, inner.size - index_[0]);
      copyRows(to, at_, {1, 0, run, inner.stride}, elementBytes_);
      to += run * elementBytes_;
      count -= run;
      at_ += run * inner.stride;
      index_[0] += run;
      if (index_[0] == inner.size) {
        at_ -= inner.size * inner.stride;
        index_[0] = 0;
        advance(1);
      }
    } else {
      const Dimension outer = dimension_[1];
      const int64_t rows = std::min(count / inner.size, outer.size - index_[1]);
      copyRows(to, at_, {rows, outer.stride, inner.size, inner.stride}, elementBytes_);
      to += rows * inner.size * elementBytes_;
      count -= rows * inner.size;
      advance(rows);
    }
  }
}

// Goes on by so many rows, at most to the end of dimension 1.
void StridedReader::advance(int64_t rows) noexcept {
  for (int d = 1; d < dims_; ++d) {
    const Dimension dimension = dimension_[static_cast<size_t>(d)];
    int64_t& index = index_[static_cast<size_t>(d)];
    index += rows;
    at_ += rows * dimension.stride;
    if (index < dimension.size) return;
    at_ -= dimension.size * dimension.stride;
    index = 0;
    rows = 1;
  }
}

}  // namespace ulpscope
