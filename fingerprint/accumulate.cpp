#include "fingerprint/accumulate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "fingerprint/chunk_state.h"
#include "fingerprint/float_formats.h"

// Compiled once for each instruction set: plain C++ (SSE2), SSE4, AVX2, AVX3. SSSE3 would add code
// and no users.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fingerprint/accumulate.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "fingerprint/accumulate_kernel-inl.h"
#include "fingerprint/lane_sums-inl.h"

static_assert(std::endian::native == std::endian::little);

#undef ULPSCOPE_PLAIN
#define ULPSCOPE_PLAIN (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)

HWY_BEFORE_NAMESPACE();
namespace ulpscope::HWY_NAMESPACE {
#if ULPSCOPE_PLAIN

bool accumulateHere(Accumulator& accumulator, const Chunk& chunk, bool withSketch,
                    Hash128& /*hash*/) {
  accumulatePlain(accumulator, chunk, withSketch);
  return false;
}
Sketch sketchHere(const Accumulator& accumulator) {
  return sketchPlain(accumulator);
}
const char* targetHere() {
  return HWY_ARCH_X86_64 ? "SSE2" : "plain";
}

#else
namespace {

constexpr BlockWords kFirstWords = blockWords(0);

// Rotations of the rows that so many components of a block touch.
uint32_t rotationsOf(const BlockWords& words, size_t components) {
  uint32_t rotations = 0;
  for (size_t row = 0; row * kLanes < components; ++row) {
    rotations |= 1U << rowRotation(words, row);
  }
  return rotations;
}

// Where a row of components is a stripe of XXH3, a chunk is hashed from the same loads.
template <class Loader>
inline constexpr bool kHashesChunks = std::is_same_v<Loader, LoadFloat32>;

template <class Loader>
class ChunkPass {
 public:
  using T = typename Loader::Component;

  ChunkPass(const Chunk& chunk, bool withSketch, T smallestNormal, const float* table,
            double (*sketch)[kLanes])
      : chunk_(chunk),
        withSketch_(withSketch),
        smallestNormal_(smallestNormal),
        table_(table),
        sketch_(sketch) {}

  // Adds all components; false where the fast path met what is not finite. Hashes a whole chunk
  // on the way if `hash` is given, which needs the fast path.
  bool run(bool allFinite, ChunkState<T>& state, Xxh3Accumulators* hash = nullptr) {
    hash_ = hash;
    const auto* data = static_cast<const char*>(chunk_.data);
    auto left = static_cast<size_t>(chunk_.components);
    BlockWords computed;
    for (uint64_t block = chunk_.firstComponent / kBlockComponents; left != 0; ++block) {
      const size_t count = left < kBlockComponents ? left : kBlockComponents;
      const BlockWords* words = &kFirstWords;
      if (block != 0) {
        computed = wordsOf(block);
        words = &computed;
      }
      left -= count;
      addBlock(data, count, *words, allFinite, left == 0, state);
      data += count * (table_ != nullptr ? 1 : Loader::kBytes);
    }
    return !allFinite || chunk_.components < kLanes || isFinite(state);
  }

 private:
  void addBlock(const char* data, size_t count, const BlockWords& words, bool allFinite,
                bool isLast, ChunkState<T>& state) {
    int64_t prefetchDistance = chunk_.prefetchDistance;
    alignas(64) float expanded[kBlockComponents];
    if (table_ != nullptr) {
      for (size_t i = 0; i < count; ++i) expanded[i] = table_[static_cast<uint8_t>(data[i])];
      data = reinterpret_cast<const char*>(expanded);
      prefetchDistance = 0;
    }
    size_t fullRows = 0;
    if (allFinite) {
      fullRows = count / kLanes;
      if (fullRows != 0) addFullRows(data, fullRows, words, prefetchDistance, isLast, state);
    }
    const size_t done = fullRows * kLanes;
    if (done != count) {
      addAnyRows<Loader>(data + done * Loader::kBytes, fullRows, count - done, words,
                         smallestNormal_, state, sketch_);
    }
  }

  void addFullRows(const char* data, size_t rows, const BlockWords& words, int64_t prefetchDistance,
                   [[maybe_unused]] bool isLast, ChunkState<T>& state) {
    if constexpr (kHashesChunks<Loader>) {
      if (hash_ != nullptr) {
        addFiniteRows<Loader, Extra::sketchAndHash>(
            data, rows, words, smallestNormal_, prefetchDistance, state, sketch_, hash_, isLast);
        return;
      }
    }
    if (withSketch_) {
      addFiniteRows<Loader, Extra::sketch>(data, rows, words, smallestNormal_, prefetchDistance,
                                           state, sketch_);
    } else {
      addFiniteRows<Loader, Extra::none>(data, rows, words, smallestNormal_, prefetchDistance,
                                         state, sketch_);
    }
  }

  static bool isFinite(const ChunkState<T>& state) {
    return sumOfLanes(state.squares) * 0.0 == 0.0;
  }

  const Chunk& chunk_;
  bool withSketch_;
  T smallestNormal_;
  const float* table_;
  double (*sketch_)[kLanes];
  Xxh3Accumulators* hash_ = nullptr;
};

void clearRows(double (*sketch)[kLanes], uint32_t rotations) {
  for (; rotations != 0; rotations &= rotations - 1) {
    std::memset(sketch[std::countr_zero(rotations)], 0, sizeof sketch[0]);
  }
}

// Whether `hash` was computed.
template <class Loader>
HWY_NOINLINE bool addChunk(Accumulator& accumulator, const Chunk& chunk, bool withSketch,
                           Hash128& hash, typename Loader::Component smallestNormal,
                           const float* table = nullptr) {
  alignas(64) double part[kLanes][kLanes];
  const bool first = accumulator.rotations == 0;
  double(*sketch)[kLanes] = first ? accumulator.sketch : part;
  const uint32_t rotations =
      chunk.components < kBlockComponents
          ? rotationsOf(chunk.firstComponent == 0
                            ? kFirstWords
                            : blockWords(chunk.firstComponent / kBlockComponents),
                        static_cast<size_t>(chunk.components))
          : (1U << kLanes) - 1;
  clearRows(sketch, rotations);

  ChunkPass<Loader> pass(chunk, withSketch, smallestNormal, table, sketch);
  ChunkState<typename Loader::Component> state;
  Xxh3Accumulators stripes;
  const bool hashes = kHashesChunks<Loader> && table == nullptr && withSketch &&
                      !accumulator.expectNonFinite &&
                      chunk.components * int64_t{Loader::kBytes} == kChunkBytes;
  if (!pass.run(!accumulator.expectNonFinite, state, hashes ? &stripes : nullptr)) {
    state = {};
    clearRows(sketch, rotations);
    pass.run(false, state);
  }
  accumulator.expectNonFinite = state.nan + state.positiveInfinity + state.negativeInfinity != 0;

  Statistics& s = accumulator.statistics;
  s.components += static_cast<uint64_t>(chunk.components);
  s.nan += state.nan;
  s.positiveInfinity += state.positiveInfinity;
  s.negativeInfinity += state.negativeInfinity;
  s.zero += state.zero;
  s.negativeZero += state.negativeZero;
  s.subnormal += state.subnormal;
  // Adding 0 makes 0 of -0.
  s.min = std::min(s.min, minOfLanes(state.min) + 0.0);
  s.max = std::max(s.max, maxOfLanes(state.max) + 0.0);
  const double sum = sumOfLanes(state.sum);
  s.sum += sum;
  s.l1 += sum - 2 * sumOfLanes(state.negative);
  s.sumSquares += sumOfLanes(state.squares);
  if (!first) {
    for (uint32_t left = rotations; left != 0; left &= left - 1) {
      const int r = std::countr_zero(left);
      addRow(accumulator.sketch[r], part[r]);
    }
  }
  accumulator.rotations |= rotations;
  if (hashes) hash = hashOfAccumulators(stripes.lanes.data(), static_cast<size_t>(kChunkBytes));
  return hashes;
}

}  // namespace

bool accumulateHere(Accumulator& accumulator, const Chunk& chunk, bool withSketch, Hash128& hash) {
  const auto add = [&]<class Loader>(Loader /*loader*/, auto smallestNormal) {
    return addChunk<Loader>(accumulator, chunk, withSketch, hash,
                            static_cast<typename Loader::Component>(smallestNormal));
  };
  const auto addBytes = [&](const std::array<float, 256>& table, float smallestNormal) {
    return addChunk<LoadFloat32>(accumulator, chunk, withSketch, hash, smallestNormal,
                                 table.data());
  };
  switch (chunk.dtype) {
    case DType::Float32:
    case DType::Complex64:
      return add(LoadFloat32(), 0x1p-126F);
    case DType::BFloat16:
      return add(LoadBFloat16(), 0x1p-126F);
    case DType::Float16:
    case DType::Complex32:
      return add(LoadFloat16(), 0x1p-14F);
    case DType::Float64:
    case DType::Complex128:
      return add(LoadFloat64(), 0x1p-1022);
    // Of integers only 0 is less than 1 in magnitude.
    case DType::Int8:
    case DType::QInt8:
    case DType::Int1:
    case DType::Int2:
    case DType::Int3:
    case DType::Int4:
    case DType::Int5:
    case DType::Int6:
    case DType::Int7:
      return add(LoadSmallInt<int8_t>(), 1);
    case DType::Int16:
      return add(LoadSmallInt<int16_t>(), 1);
    case DType::UInt16:
      return add(LoadSmallInt<uint16_t>(), 1);
    case DType::Int32:
    case DType::QInt32:
      return add(LoadInt32(), 1);
    case DType::UInt32:
      return add(LoadUInt32(), 1);
    case DType::Int64:
      return add(LoadInt64<true>(), 1);
    case DType::UInt64:
      return add(LoadInt64<false>(), 1);
    case DType::Bool:
      return add(LoadBool(), 1);
    case DType::Float8_e5m2:
      return addBytes(kFloat8E5M2Values, 0x1p-14F);
    case DType::Float8_e4m3fn:
      return addBytes(kFloat8E4M3FnValues, 0x1p-6F);
    case DType::Float8_e5m2fnuz:
      return addBytes(kFloat8E5M2FnuzValues, 0x1p-15F);
    case DType::Float8_e4m3fnuz:
      return addBytes(kFloat8E4M3FnuzValues, 0x1p-7F);
    case DType::Float8_e8m0fnu:
      return addBytes(kFloat8E8M0Values, 0.0F);
    default:
      return add(LoadSmallInt<uint8_t>(), 1);  // unsigned bytes, and what is raw
  }
}

Sketch sketchHere(const Accumulator& accumulator) {
  Sketch buckets;
  uint32_t left = accumulator.rotations;
  if (left == 0) {
    buckets.fill(0);
    return buckets;
  }
  copyRotated(buckets.data(), accumulator.sketch, static_cast<size_t>(std::countr_zero(left)));
  for (left &= left - 1; left != 0; left &= left - 1) {
    addRotated(buckets.data(), accumulator.sketch, static_cast<size_t>(std::countr_zero(left)));
  }
  return buckets;
}

const char* targetHere() {
  return hwy::TargetName(HWY_TARGET);
}

#endif  // !ULPSCOPE_PLAIN

}  // namespace ulpscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope {

HWY_EXPORT(accumulateHere);
HWY_EXPORT(sketchHere);
HWY_EXPORT(targetHere);

Accumulator::Accumulator() noexcept {
  statistics.min = std::numeric_limits<double>::infinity();
  statistics.max = -std::numeric_limits<double>::infinity();
}

bool accumulate(Accumulator& accumulator, const Chunk& chunk, bool withSketch,
                Hash128& hash) noexcept {
  return HWY_DYNAMIC_DISPATCH(accumulateHere)(accumulator, chunk, withSketch, hash);
}

Sketch sketchOf(const Accumulator& accumulator) noexcept {
  return HWY_DYNAMIC_DISPATCH(sketchHere)(accumulator);
}

const char* accumulateTarget() noexcept {
  return HWY_DYNAMIC_DISPATCH(targetHere)();
}

}  // namespace ulpscope
#endif  // HWY_ONCE
