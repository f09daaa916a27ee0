#include "fingerprint/fingerprint.h"

#include <algorithm>

#include "fingerprint/accumulate.h"
#include "fingerprint/chunk_hash.h"
#include "fingerprint/float_environment.h"
#include "fingerprint/strided_reader.h"

namespace ulpscope {
namespace {

// While a chunk is accumulated, what comes next is fetched: a chunk and a half ahead is the best of
// the distances tried, for the first half of it is there when the next chunk is hashed.
constexpr int64_t kPrefetchDistance = kChunkBytes * 3 / 2;

// Hash and, if asked, statistics of a view, one chunk after the other: each is hashed, which brings
// it into the cache, and then accumulated from there.
class Pass {
 public:
  Pass(const StridedView& view, Level level) noexcept
      : view_(view), level_(level), reader_(view) {}

  void run(Fingerprint& result) noexcept {
    Hash128 hash;
    if (reader_.inPlace()) {
      hash = readChunks(nullptr);
    } else {
      hash = readPacked();
    }
    result.digest = {hash.low, hash.high};
    if (level_ >= Level::statistics) result.statistics = accumulator_.statistics;
    if (level_ == Level::full) result.sketch = sketchOf(accumulator_);
  }

 private:
  // Apart, so that only views that need packing have a chunk on the stack.
  [[gnu::noinline]] Hash128 readPacked() noexcept {
    alignas(64) char buffer[kChunkBytes];
    return readChunks(buffer);
  }

  Hash128 readChunks(void* buffer) noexcept {
    if (reader_.elements() == 0) return hashBytes(nullptr, 0);
    const int64_t perChunk = kChunkBytes / info(view_.dtype).bytes;
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
    const Hash128 hash = hashBytes(data, static_cast<size_t>(count * info(view_.dtype).bytes));
    if (level_ >= Level::statistics) {
      const int64_t components = componentsPerElement(view_.dtype);
      const Chunk chunk{data, view_.dtype, count * components,
                        static_cast<uint64_t>(first * components),
                        reader_.inPlace() ? kPrefetchDistance : 0};
      accumulate(accumulator_, chunk, level_ == Level::full);
    }
    return hash;
  }

  const StridedView& view_;
  Level level_;
  StridedReader reader_;
  Accumulator accumulator_;
};

}  // namespace

Fingerprint fingerprint(const StridedView& view, Level level) noexcept {
  const DefaultFloatEnvironment environment;
  Fingerprint result;
  result.level = level;
  Pass(view, level).run(result);
  return result;
}

const char* instructionSet() { return accumulateTarget(); }

}  // namespace ulpscope
