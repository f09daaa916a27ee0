// Speed of fingerprints beside the machine's plain read bandwidth, in one process:
//   ulpscope_bench_fingerprint [--benchmark_filter=REGEX]
// ReadBandwidth sums 64-bit words with the widest loads the compiler may use here.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "fingerprint/fingerprint.h"

namespace {

using namespace ulpscope;

constexpr int64_t kLargeBytes = int64_t{256} << 20;

// Aligned to 64 bytes, as LibTorch's allocator does.
template <typename T>
struct Aligned64 {
  using value_type = T;
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* memory, size_t /*count*/) { ::operator delete (memory, std::align_val_t{64}); }
  bool operator==(const Aligned64&) const = default;
};
template <typename T>
using Buffer = std::vector<T, Aligned64<T>>;

// Normally distributed numbers as they are in trained networks, in the format's own bytes.
template <typename T>
Buffer<T> numbers(size_t count) {
  Buffer<T> values(count);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (size_t i = 0; i < std::min<size_t>(count, 1 << 20); ++i) {
    const double x = normal(random);
    if constexpr (std::is_floating_point_v<T>) {
      values[i] = static_cast<T>(x);
    } else {
      values[i] = static_cast<T>(static_cast<int64_t>(x * 30));
    }
  }
  for (size_t i = 1 << 20; i < count; ++i) values[i] = values[i - (1 << 20)];
  return values;
}

template <typename T>
const void* large() {
  static const Buffer<T> buffer = numbers<T>(kLargeBytes / sizeof(T));
  return buffer.data();
}

// The upper halves of float32: bfloat16, and finite numbers when read as float16.
const void* largeHalves() {
  static const Buffer<uint16_t> buffer = [] {
    const auto values = numbers<float>(kLargeBytes / 2);
    Buffer<uint16_t> halves(values.size());
    for (size_t i = 0; i < halves.size(); ++i) {
      uint32_t bits;
      std::memcpy(&bits, &values[i], sizeof bits);
      halves[i] = static_cast<uint16_t>(bits >> 16);
    }
    return halves;
  }();
  return buffer.data();
}

const void* largeBuffer(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return large<double>();
    case DType::BFloat16:
    case DType::Float16:
      return largeHalves();
    case DType::Int64:
      return large<int64_t>();
    case DType::Int32:
      return large<int32_t>();
    case DType::Float32:
      return large<float>();
    default:
      return large<int8_t>();
  }
}

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
uint64_t
sumWords(const uint64_t* words, size_t count) {
  std::array<uint64_t, 64> sums{};
  for (size_t i = 0; i + sums.size() <= count; i += sums.size()) {
    for (size_t j = 0; j < sums.size(); ++j) sums[j] += words[i + j];
  }
  uint64_t sum = 0;
  for (const uint64_t x : sums) sum += x;
  return sum;
}

void readBandwidth(benchmark::State& state) {
  const auto* words = static_cast<const uint64_t*>(large<int64_t>());
  for (auto _ : state) benchmark::DoNotOptimize(sumWords(words, kLargeBytes / 8));
  state.SetBytesProcessed(state.iterations() * kLargeBytes);
}

void measure(benchmark::State& state, DType dtype, Level level, int64_t bytes) {
  const std::array<int64_t, 1> sizes{bytes / info(dtype).bytes};
  StridedView view{largeBuffer(dtype), dtype};
  view.dim = 1;
  view.sizes = sizes.data();
  for (auto _ : state) benchmark::DoNotOptimize(fingerprint(view, level));
  state.SetBytesProcessed(state.iterations() * bytes);
  state.SetLabel(instructionSet());
}

void measureStrided(benchmark::State& state, std::vector<int64_t> sizes,
                    std::vector<int64_t> strides, DType dtype) {
  StridedView view{largeBuffer(dtype), dtype};
  view.dim = static_cast<int32_t>(sizes.size());
  view.sizes = sizes.data();
  view.strides = strides.data();
  int64_t bytes = info(dtype).bytes;
  for (const int64_t size : sizes) bytes *= size;
  for (auto _ : state) benchmark::DoNotOptimize(fingerprint(view, Level::full));
  state.SetBytesProcessed(state.iterations() * bytes);
}

const char* name(Level level) {
  constexpr std::array names{"digest", "statistics", "full"};
  return names[static_cast<size_t>(level)];
}

const bool kRegistered = [] {
  benchmark::RegisterBenchmark("readBandwidth", readBandwidth)->Unit(benchmark::kMillisecond);
  for (const DType dtype :
       {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16, DType::Int64, DType::Int32,
        DType::UInt8, DType::Int8, DType::Bool, DType::Float8_e4m3fn}) {
    for (const Level level : {Level::digest, Level::statistics, Level::full}) {
      if (level != Level::full && dtype != DType::Float32) continue;
      const auto title = "large/" + std::string(info(dtype).name) + "/" + name(level);
      benchmark::RegisterBenchmark(title.c_str(), measure, dtype, level, kLargeBytes)
          ->Unit(benchmark::kMillisecond);
    }
  }
  for (const Level level : {Level::digest, Level::full}) {
    for (const int64_t bytes : {4, 32, 256, 1024, 4096, 65536, 1 << 20}) {
      const auto title =
          "small/float32/" + std::string(name(level)) + "/" + std::to_string(bytes) + "B";
      benchmark::RegisterBenchmark(title.c_str(), measure, DType::Float32, level, bytes);
    }
  }
  using Shape = std::vector<int64_t>;
  const auto strided = [](const char* title, const Shape& sizes, const Shape& strides) {
    benchmark::RegisterBenchmark(title, measureStrided, sizes, strides, DType::Float32);
  };
  strided("strided/contiguous/2048x2048", Shape{2048, 2048}, Shape{2048, 1});
  strided("strided/transposed/2048x2048", Shape{2048, 2048}, Shape{1, 2048});
  strided("strided/channelsLast/8x64x56x56", Shape{8, 64, 56, 56},
          Shape{56 * 56 * 64, 1, 56 * 64, 64});
  strided("strided/heads/8x12x128x64", Shape{8, 12, 128, 64}, Shape{128 * 768, 64, 768, 1});
  strided("strided/narrow/65536x8of32", Shape{65536, 8}, Shape{32, 1});
  strided("strided/expanded/4096x1024", Shape{4096, 1024}, Shape{0, 1});
  strided("strided/everySecond/4194304", Shape{4194304}, Shape{2});
  return true;
}();

}  // namespace
