#include "fingerprint/fingerprint.h"

#include <cstring>

#include "fingerprint/accumulate.h"
#include "fingerprint/chunk_hash.h"

namespace ulpscope {
namespace {

constexpr int kMaximumDim = 64;

void applyBits(char* data, int64_t elements, DType dtype, bool conjugate, bool negative) {
  const DTypeInfo& type = info(dtype);
  const bool isComplex = type.kind == NumberKind::complex;
  const int componentBytes = type.bytes / (isComplex ? 2 : 1);
  for (int64_t i = 0; i < elements * (isComplex ? 2 : 1); ++i) {
    char* at = data + i * componentBytes;
    bool flip = negative;
    if (conjugate && isComplex && i % 2 == 1) flip = !flip;
    if (!flip) continue;
    if (isComplex || type.kind == NumberKind::floating) {
      if (dtype == DType::Float8_e8m0fnu) continue;
      const bool noNegativeZero =
          dtype == DType::Float8_e5m2fnuz || dtype == DType::Float8_e4m3fnuz;
      if (noNegativeZero && (*at & 0x7f) == 0) continue;
      at[componentBytes - 1] ^= static_cast<char>(0x80);
    } else if (type.kind == NumberKind::signedInt || type.kind == NumberKind::unsignedInt) {
      uint64_t bits = 0;
      std::memcpy(&bits, at, static_cast<size_t>(componentBytes));
      bits = 0 - bits;
      std::memcpy(at, &bits, static_cast<size_t>(componentBytes));
    }
  }
}

}  // namespace

Fingerprint fingerprint(const StridedView& view, Level level) noexcept {
  Fingerprint result;
  result.level = level;
  Accumulator accumulator;
  const int64_t bytes = info(view.dtype).bytes;
  int64_t elements = bytes == 0 || view.data == nullptr || view.dim > kMaximumDim ? 0 : 1;
  for (int d = 0; d < view.dim && elements != 0; ++d) {
    elements = view.sizes[d] <= 0 ? 0 : elements * view.sizes[d];
  }
  const int64_t factor = componentsPerElement(view.dtype);
  const int64_t perChunk = bytes == 0 ? 1 : kChunkBytes / bytes;
  int64_t index[kMaximumDim] = {};
  alignas(64) char buffer[kChunkBytes];
  HashOfHashes tree;
  Hash128 hash = hashBytes(nullptr, 0);
  for (int64_t first = 0; first < elements; first += perChunk) {
    const int64_t count = elements - first < perChunk ? elements - first : perChunk;
    const char* chunk = static_cast<const char*>(view.data) + first * bytes;
    if (view.strides != nullptr || view.conjugate || view.negative) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t offset = first + i;
        if (view.strides != nullptr) {
          offset = 0;
          for (int d = 0; d < view.dim; ++d) offset += index[d] * view.strides[d];
          for (int d = view.dim - 1; d >= 0 && ++index[d] == view.sizes[d]; --d) index[d] = 0;
        }
        std::memcpy(buffer + i * bytes, static_cast<const char*>(view.data) + offset * bytes,
                    static_cast<size_t>(bytes));
      }
      applyBits(buffer, count, view.dtype, view.conjugate, view.negative);
      chunk = buffer;
    }
    hash = hashBytes(chunk, static_cast<size_t>(count * bytes));
    if (elements > perChunk) tree.add(hash);
    if (level >= Level::statistics) {
      accumulate(accumulator,
                 {chunk, view.dtype, count * factor, static_cast<uint64_t>(first * factor),
                  chunk == buffer ? 0 : kChunkBytes},
                 level == Level::full);
    }
  }
  if (elements > perChunk) hash = tree.finish();
  result.digest = {hash.low, hash.high};
  if (level >= Level::statistics) result.statistics = accumulator.statistics;
  if (level == Level::full) result.sketch = sketchOf(accumulator);
  return result;
}

const char* instructionSet() { return accumulateTarget(); }

}  // namespace ulpscope
