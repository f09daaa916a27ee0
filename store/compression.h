#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

/// Blocks of the trace, compressed where that makes them smaller: byte 0 is the codec (0: as it is,
/// 1: zstd), the rest the data.
namespace ulpscope {

/// Keeps its working memory between blocks. Not thread-safe.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  /// Valid until the next call.
  std::span<const std::byte> compress(std::span<const std::byte> data);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  std::vector<std::byte> block_;
};

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /// Valid until the next call, and as long as `block`. Throws Malformed.
  std::span<const std::byte> decompress(std::span<const std::byte> block);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  std::vector<std::byte> data_;
};

}  // namespace ulpscope
