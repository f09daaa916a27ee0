#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ulpscope {

// The fixed pseudo-random functions of the sketch. Components are taken in rows of 16 lanes and in
// blocks of 64 rows. Block q draws 20 words of 64 bits from splitmix64 (Steele, Lea, Flood 2014):
// words 0..15 hold for each row the 16 signs of its lanes (1: minus), words 16..19 hold for each
// row a 4-bit rotation; in both, earlier rows and lanes in lower bits.
// bucket(row, lane) = lane xor rotation(row): components of one row never collide, components of
// different rows do with probability 1/16.

inline constexpr int kLanes = 16;
inline constexpr int kRowsPerBlock = 64;
inline constexpr int kBlockComponents = kLanes * kRowsPerBlock;
inline constexpr int kWordsPerBlock = 20;

/// Output number `index` of splitmix64 seeded with 0.
constexpr uint64_t splitmix64(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

using BlockWords = std::array<uint64_t, kWordsPerBlock>;

/// The words of block q; signs of row r: words[r / 4] >> 16 * (r % 4); rotation of row r:
/// words[16 + r / 16] >> 4 * (r % 16).
constexpr BlockWords blockWords(uint64_t block) {
  BlockWords words{};
  for (uint64_t w = 0; w < kWordsPerBlock; ++w) words[w] = splitmix64(block * kWordsPerBlock + w);
  return words;
}

constexpr uint32_t rowSigns(const BlockWords& words, size_t row) {
  return static_cast<uint32_t>(words[row / 4] >> (row % 4 * 16)) & 0xffff;
}

constexpr uint32_t rowRotation(const BlockWords& words, size_t row) {
  return static_cast<uint32_t>(words[16 + row / 16] >> (row % 16 * 4)) & 15;
}

}  // namespace ulpscope
