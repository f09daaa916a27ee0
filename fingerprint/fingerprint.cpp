#include "fingerprint/fingerprint.h"

#include <algorithm>

#include "fingerprint/accumulate.h"
#include "fingerprint/chunk_hash.h"
#include "fingerprint/float_environment.h"
#include "fingerprint/strided_reader.h"

namespace ulpscope {
namespace {

// While a chunk is accumulated, what comes next is fetched: a chunk and a half ahead is the best of
// the distances tried.
constexpr int64_t kPrefetchDistance = kChunkBytes * 3 / 2;

// Hash and, if asked, statistics of a view, one chunk after the other: what the first of the two
// brings into the cache, the second finds there.
class Pass {
 public:
  Pass(const StridedView& view, Level level) noexcept
      : dtype_(view.dtype), level_(level), elementBytes_(info(view.dtype).bytes), reader_(view) {}

  Fingerprint run() noexcept {
    const Hash128 hash = reader_.inPlace() ? readChunks(nullptr) : readPacked();
    const Digest digest{hash.low, hash.high};
    switch (level_) {
      case Level::digest:
        return {level_, digest};
      case Level::statistics:
        return {level_, digest, accumulator_.statistics};
      default:
        return {level_, digest, accumulator_.statistics, sketchOf(accumulator_)};
    }
  }

 private:
  // Apart, so that only views that need packing have a chunk on the stack.
  [[gnu::noinline]] Hash128 readPacked() noexcept {
    alignas(64) char buffer[kChunkBytes];
    return readChunks(buffer);
  }

  Hash128 readChunks(void* buffer) noexcept {
    if (reader_.elements() == 0) return hashBytes(nullptr, 0);
    const int64_t perChunk = kChunkBytes / elementBytes_;
    if (reader_.elements() <= perChunk) return readChunk(0, reader_.elements(), buffer);
    HashOfHashes tree;
    for (int64_t first = 0; first < reader_.elements(); first += perChunk) {
      const int64_t count = std::min(perChunk, reader_.elements() - first);
      tree.add(readChunk(first, count, buffer));
    }
    return tree.finish();
  }

  Hash128 readChunk(int64_t first, int64_t count, void* buffer) noexcept {
    const void* data = reader_.next(count, buffer);
    const auto bytes = static_cast<size_t>(count * elementBytes_);
    if (level_ == Level::digest) return hashBytes(data, bytes);
    const int64_t components = componentsPerElement(dtype_);
    const Chunk chunk{data, dtype_, count * components, static_cast<uint64_t>(first * components),
                      reader_.inPlace() ? kPrefetchDistance : 0};
    Hash128 hash;
    if (!accumulate(accumulator_, chunk, level_ == Level::full, hash)) {
      hash = hashBytes(data, bytes);
    }
    return hash;
  }

  DType dtype_;
  Level level_;
  int64_t elementBytes_;
  StridedReader reader_;
  Accumulator accumulator_;
};

}  // namespace

Fingerprint fingerprint(const StridedView& view, Level level) noexcept {
  if (level == Level::digest) return Pass(view, level).run();
  const DefaultFloatEnvironment environment;
  return Pass(view, level).run();
}

const char* instructionSet() {
  return accumulateTarget();
}

}  // namespace ulpscope
