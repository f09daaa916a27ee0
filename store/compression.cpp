#include "store/compression.h"

#include <zstd.h>

#include <new>

#include "store/bytes.h"

namespace ulpscope {
namespace {

enum class Codec : uint8_t { stored = 0, zstd = 1 };

// Ops repeat from step to step: the fastest level finds nearly all of it.
constexpr int kZstdLevel = 1;
// No block that the writer makes comes near it; a damaged size must not allocate what it likes.
constexpr unsigned long long kLargestBlock = 64ULL << 20;

}  // namespace

struct Compressor::Context {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ~Context() { ZSTD_freeCCtx(zstd); }
};

Compressor::Compressor() : context_(std::make_unique<Context>()) {
  if (context_->zstd == nullptr) throw std::bad_alloc();
}
Compressor::~Compressor() = default;

std::span<const std::byte> Compressor::compress(std::span<const std::byte> data) {
  block_.resize(1 + ZSTD_compressBound(data.size()));
  const size_t size = ZSTD_compressCCtx(context_->zstd, block_.data() + 1, block_.size() - 1,
                                        data.data(), data.size(), kZstdLevel);
  if (!ZSTD_isError(size) && size < data.size()) {
    block_[0] = std::byte{static_cast<uint8_t>(Codec::zstd)};
    return std::span(block_).first(1 + size);
  }
  block_.resize(1 + data.size());
  block_[0] = std::byte{static_cast<uint8_t>(Codec::stored)};
  if (!data.empty()) std::memcpy(block_.data() + 1, data.data(), data.size());
  return block_;
}

struct Decompressor::Context {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  ~Context() { ZSTD_freeDCtx(zstd); }
};

Decompressor::Decompressor() : context_(std::make_unique<Context>()) {
  if (context_->zstd == nullptr) throw std::bad_alloc();
}
Decompressor::~Decompressor() = default;

std::span<const std::byte> Decompressor::decompress(std::span<const std::byte> block) {
  ByteReader reader(block);
  const auto codec = static_cast<Codec>(reader.u8());
  const auto data = reader.raw(reader.left());
  if (codec == Codec::stored) return data;
  if (codec != Codec::zstd) throw Malformed{"unknown compression"};
  const unsigned long long size = ZSTD_getFrameContentSize(data.data(), data.size());
  if (size > kLargestBlock) throw Malformed{"a compressed block is damaged"};
  data_.resize(static_cast<size_t>(size));
  const size_t got =
      ZSTD_decompressDCtx(context_->zstd, data_.data(), data_.size(), data.data(), data.size());
  if (ZSTD_isError(got) || got != size) throw Malformed{"a compressed block is damaged"};
  return data_;
}

}  // namespace ulpscope
