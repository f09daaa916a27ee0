#pragma once

#include <array>
#include <cstdint>

namespace ulpscope {

// The fixed pseudo-random functions of the sketch. Components are taken in rows of 16 lanes and in
// blocks of 64 rows. Block q draws 20 words of 64 bits from splitmix64 (Steele, Lea, Flood 2014):
// word l < 16 holds the signs of lane l, row 0 in the top bit (1: minus); words 16..19 hold for
// each row a 4-bit rotation, row 0 in the lowest bits of word 16.
// bucket(row, lane) = lane xor rotation(row): components of one row never collide, components of
// different rows do with probability 1/16.

inline constexpr int kLanes = 16;
inline constexpr int kRowsPerBlock = 64;
inline constexpr int kBlockComponents = kLanes * kRowsPerBlock;
inline constexpr int kWordsPerBlock = 20;

struct BlockHash {
  alignas(64) std::array<uint64_t, kLanes> signs;
  std::array<uint64_t, 4> rotations;

  constexpr int rotation(int row) const {
    return static_cast<int>(rotations[static_cast<size_t>(row) / 16] >> (row % 16 * 4)) & 15;
  }
  constexpr bool negative(int row, int lane) const {
    return (signs[static_cast<size_t>(lane)] << row >> 63) != 0;
  }
};

constexpr uint64_t splitmix64(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

constexpr BlockHash blockHash(uint64_t block) {
  BlockHash hash{};
  const uint64_t first = block * kWordsPerBlock;
  for (uint64_t lane = 0; lane < kLanes; ++lane) hash.signs[lane] = splitmix64(first + lane);
  for (uint64_t word = 0; word < 4; ++word)
    hash.rotations[word] = splitmix64(first + kLanes + word);
  return hash;
}

}  // namespace ulpscope
