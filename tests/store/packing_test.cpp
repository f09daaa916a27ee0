#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "store/bytes.h"
#include "store/compression.h"
#include "store/fingerprint_packing.h"
#include "store/op_packing.h"
#include "store/recent_map.h"

namespace ulpscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Bytes, VarintsComeBack) {
  const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, uint64_t{1} << 63, UINT64_MAX};
  ByteWriter out;
  for (uint64_t value : values) out.varint(value);
  ByteReader in(out.bytes());
  for (uint64_t value : values) EXPECT_EQ(in.varint(), value);
  EXPECT_TRUE(in.empty());
}

TEST(Bytes, VarintsAreOfTheDocumentedForm) {
  ByteWriter out;
  out.varint(300);
  out.signedVarint(-1);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out.bytes()[0], std::byte{0xac});
  EXPECT_EQ(out.bytes()[1], std::byte{0x02});
  EXPECT_EQ(out.bytes()[2], std::byte{0x01});
}

TEST(Bytes, ZigzagTakesAllNumbers) {
  for (int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
}

TEST(Bytes, ReadingPastTheEndThrows) {
  const std::byte unfinished[] = {std::byte{0x80}};
  EXPECT_THROW(ByteReader(unfinished).varint(), Malformed);
  EXPECT_THROW(ByteReader(unfinished).fixed<uint16_t>(), Malformed);
  EXPECT_THROW(ByteReader().u8(), Malformed);
  EXPECT_THROW(ByteReader(unfinished).raw(2), Malformed);
  const std::vector<std::byte> endless(11, std::byte{0x80});
  EXPECT_THROW(ByteReader(endless).varint(), Malformed);
  ByteWriter lie;
  lie.varint(1000);
  EXPECT_THROW(ByteReader(lie.bytes()).text(), Malformed);
  EXPECT_THROW(ByteReader(lie.bytes()).count(1), Malformed);
}

TEST(Compression, BlocksComeBack) {
  Compressor compressor;
  Decompressor decompressor;
  std::mt19937 random(1);
  for (size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{100000}}) {
    for (bool noise : {false, true}) {
      std::vector<std::byte> data(size);
      for (std::byte& byte : data) byte = noise ? static_cast<std::byte>(random()) : std::byte{7};
      const auto block = compressor.compress(data);
      EXPECT_LE(block.size(), size + 1);
      if (!noise && size > 100) {
        EXPECT_LT(block.size(), size / 10);
      }
      const auto back = decompressor.decompress(block);
      EXPECT_TRUE(std::equal(back.begin(), back.end(), data.begin(), data.end()));
    }
  }
}

TEST(Compression, DamagedBlocksThrow) {
  Decompressor decompressor;
  EXPECT_THROW(decompressor.decompress({}), Malformed);
  const std::byte unknown[] = {std::byte{9}, std::byte{0}};
  EXPECT_THROW(decompressor.decompress(unknown), Malformed);
  const std::byte noZstd[] = {std::byte{1}, std::byte{0}, std::byte{0}};
  EXPECT_THROW(decompressor.decompress(noZstd), Malformed);
  // A frame that claims 2^40 bytes: magic, 8-byte content size, single segment.
  const unsigned char bomb[] = {1, 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0};
  EXPECT_THROW(decompressor.decompress(std::as_bytes(std::span(bomb))), Malformed);
}

bool sameBits(const Fingerprint& a, const Fingerprint& b) {
  const auto same = [](double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; };
  const Statistics &s = a.statistics, &t = b.statistics;
  bool equal = a.level == b.level && s.components == t.components && s.nan == t.nan &&
               s.positiveInfinity == t.positiveInfinity &&
               s.negativeInfinity == t.negativeInfinity && s.zero == t.zero &&
               s.negativeZero == t.negativeZero && s.subnormal == t.subnormal &&
               same(s.min, t.min) && same(s.max, t.max) && same(s.sum, t.sum) && same(s.l1, t.l1) &&
               same(s.sumSquares, t.sumSquares);
  for (int i = 0; i < kSketchSize; ++i) equal = equal && same(a.sketch[i], b.sketch[i]);
  return equal;
}

/// Packs and unpacks; returns the packed size, or 0 where another fingerprint came back.
size_t packedSize(const Fingerprint& fingerprint) {
  ByteWriter out;
  packFingerprintRest(fingerprint, out);
  out.u8(0xa5);  // what follows must stay untouched
  ByteReader in(out.bytes());
  Fingerprint back;
  unpackFingerprintRest(in, back);
  if (in.left() != 1 || !sameBits(fingerprint, back)) return 0;
  return out.size() - 1;
}

Fingerprint fingerprintOf(const std::vector<float>& values, Level level = Level::full) {
  const auto elements = static_cast<int64_t>(values.size());
  StridedView view;
  view.data = values.data();
  view.dtype = DType::Float32;
  view.dim = 1;
  view.sizes = &elements;
  return fingerprint(view, level);
}

TEST(FingerprintPacking, RealOnesAreLosslessAndSmall) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (size_t elements : {0, 1, 2, 15, 16, 17, 1000, 65536}) {
    std::vector<float> values(elements);
    for (float& value : values) value = normal(random);
    for (Level level : {Level::digest, Level::statistics, Level::full}) {
      EXPECT_NE(packedSize(fingerprintOf(values, level)), 0u) << elements;
    }
  }
  EXPECT_EQ(packedSize(fingerprintOf({1.5f}, Level::digest)), 1u);
  EXPECT_LE(packedSize(fingerprintOf({1.5f})), 20u);
  EXPECT_LE(packedSize(fingerprintOf(std::vector<float>(1000, 0.0f))), 14u);
  std::vector<float> values(65536);
  for (float& value : values) value = normal(random);
  EXPECT_LE(packedSize(fingerprintOf(values)), 150u);  // 225 as plain numbers
}

TEST(FingerprintPacking, AnyNumbersAreLossless) {
  std::mt19937_64 random(4);
  const double special[] = {0.0,
                            -0.0,
                            1.0,
                            -1.0,
                            kInfinity,
                            -kInfinity,
                            kNaN,
                            -kNaN,
                            5e-324,
                            -5e-324,
                            1.7976931348623157e308,
                            2.2250738585072014e-308,
                            0.1,
                            1e300};
  const auto number = [&]() -> double {
    switch (random() % 4) {
      case 0:
        return special[random() % std::size(special)];
      case 1:
        return static_cast<double>(static_cast<int64_t>(random() % 2001) - 1000);
      case 2:
        return static_cast<double>(
            static_cast<float>(std::ldexp(1.0 + static_cast<double>(random() % 1000) / 1000,
                                          static_cast<int>(random() % 60) - 30)));
      default:
        return std::bit_cast<double>(random());
    }
  };
  for (int round = 0; round < 20000; ++round) {
    Fingerprint f;
    f.level = Level::full;
    Statistics& s = f.statistics;
    for (uint64_t* count : {&s.components, &s.nan, &s.positiveInfinity, &s.negativeInfinity,
                            &s.zero, &s.negativeZero, &s.subnormal}) {
      *count = random() % 3 == 0 ? random() >> (random() % 64) : 0;
    }
    for (double* field : {&s.min, &s.max, &s.sum, &s.l1, &s.sumSquares}) *field = number();
    switch (random() % 6) {  // relations that are packed away
      case 0:
        s.max = s.min;
        break;
      case 1:
        s.sum = s.min;
        break;
      case 2:
        s.l1 = std::fabs(s.sum);
        break;
      case 3:
        s.sumSquares = s.l1;
        break;
      case 4:
        s.sumSquares = s.l1 * s.l1;
        break;
      default:
        s.min = kInfinity;
        s.max = -kInfinity;
        break;
    }
    const bool similar = random() % 2 == 0;
    for (double& value : f.sketch) {
      value = random() % 3 == 0 ? 0.0
              : similar ? static_cast<double>(static_cast<int64_t>(random() >> 20)) * 0x1p-70
                        : number();
    }
    ASSERT_NE(packedSize(f), 0u) << "round " << round;
  }
}

TEST(FingerprintPacking, SubnormalsAndWideSpreadsKeepTheirBits) {
  Fingerprint f;
  f.level = Level::full;
  f.sketch = {5e-324, -1e-320, 2.2250738585072014e-308};
  EXPECT_NE(packedSize(f), 0u);
  f.sketch = {1e300, 1e-300, -3.0};
  EXPECT_NE(packedSize(f), 0u);
  f.sketch.fill(-0.0);
  EXPECT_NE(packedSize(f), 0u);
  f.sketch.fill(9007199254740991.0);
  f.sketch[3] = -9007199254740991.0 * 256;
  EXPECT_NE(packedSize(f), 0u);
}

TEST(FingerprintPacking, DamageThrowsOrGivesAFingerprint) {
  ByteWriter out;
  packFingerprintRest(fingerprintOf({1, 2, 3.5f}), out);
  std::vector<std::byte> bytes(out.bytes().begin(), out.bytes().end());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::span<const std::byte> cut(bytes.data(), length);
    ByteReader in(cut);
    Fingerprint f;
    EXPECT_THROW(unpackFingerprintRest(in, f), Malformed);
  }
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::vector<std::byte> flipped = bytes;
    flipped[i / 8] ^= std::byte{static_cast<unsigned char>(1u << (i % 8))};
    ByteReader in(flipped);
    Fingerprint f;
    try {
      unpackFingerprintRest(in, f);
    } catch (const Malformed&) {
    }
  }
}

/// Random ops in ascending order, with values at and between the limits of each field.
struct RandomOps {
  std::mt19937_64 random;
  explicit RandomOps(uint64_t seed) : random(seed) {}
  int64_t number(int64_t limit) {
    switch (random() % 4) {
      case 0:
        return 0;
      case 1:
        return limit;
      default:
        return static_cast<int64_t>(random() % (static_cast<uint64_t>(limit) + 1)) >>
               (random() % 40);
    }
  }
  OpTable make(int32_t step) {
    OpTable table;
    int64_t id = number(int64_t{1} << 61);
    for (uint64_t i = 0, count = 1 + random() % 200; i < count; ++i) {
      Op op;
      op.id = {id += 1 + (random() % 8 == 0 ? number(1 << 20) : 0)};
      op.parent = {random() % 3 == 0 ? number(id) : 0};
      op.kind = static_cast<OpKind>(random() % 5);
      op.phase = static_cast<Phase>(random() % 4);
      op.raised = random() % 2 == 0;
      op.thread = static_cast<uint32_t>(number(UINT32_MAX));
      op.step = step;
      op.region = {number(INT64_MAX)};
      op.schema = {static_cast<uint32_t>(number(UINT32_MAX))};
      op.scalars = {static_cast<uint32_t>(number(UINT32_MAX))};
      op.stack = {static_cast<uint32_t>(number(UINT32_MAX))};
      op.provenance = {static_cast<uint32_t>(number(UINT32_MAX))};
      op.sequence = random() % 2 == 0 ? -1 : number(INT64_MAX);
      op.forwardThread = static_cast<uint32_t>(number(UINT32_MAX));
      op.firstOperand = static_cast<uint32_t>(table.operands.size());
      op.operandCount = static_cast<uint32_t>(random() % 5);
      for (uint32_t k = 0; k < op.operandCount; ++k) {
        Operand o;
        o.role = static_cast<Role>(random() % 4);
        o.skip = static_cast<SkipReason>(random() % 11);
        o.closure = static_cast<Closure>(random() % 4);
        o.flags = static_cast<uint8_t>(random());
        o.arg = static_cast<int16_t>(random());
        o.item = static_cast<int16_t>(static_cast<int64_t>(number(32768)) - 1);
        o.type = {static_cast<uint32_t>(number(UINT32_MAX))};
        o.fingerprint = {number(INT64_MAX)};
        o.storage = {number(INT64_MAX)};
        o.offset = random() % 2 == 0 ? number(INT64_MAX) : -number(INT64_MAX);
        o.writer = {number(id)};
        table.operands.push_back(o);
      }
      table.ops.push_back(op);
    }
    return table;
  }
};

bool equal(const Op& a, const Op& b) {
  return a.id == b.id && a.parent == b.parent && a.kind == b.kind && a.phase == b.phase &&
         a.raised == b.raised && a.thread == b.thread && a.step == b.step && a.region == b.region &&
         a.schema == b.schema && a.scalars == b.scalars && a.stack == b.stack &&
         a.provenance == b.provenance && a.sequence == b.sequence &&
         a.forwardThread == b.forwardThread && a.firstOperand == b.firstOperand &&
         a.operandCount == b.operandCount;
}

bool equal(const Operand& a, const Operand& b) {
  return a.role == b.role && a.skip == b.skip && a.closure == b.closure && a.flags == b.flags &&
         a.arg == b.arg && a.item == b.item && a.type == b.type && a.fingerprint == b.fingerprint &&
         a.storage == b.storage && a.offset == b.offset && a.writer == b.writer;
}

TEST(OpPacking, AnyOpsComeBack) {
  RandomOps generator(5);
  OpChunkPacker packer;
  for (int round = 0; round < 200; ++round) {
    const int32_t step = round % 3 == 0 ? INT32_MIN : round;
    const OpTable table = generator.make(step);
    for (const Op& op : table.ops) {
      packer.addOp(op);
      for (const Operand& operand : table.of(op)) packer.addOperand(operand);
    }
    OpChunk chunk{
        0, packer.first(), packer.last(), packer.step(), packer.count(), packer.operandCount()};
    ByteWriter ops, operands;
    packer.finish(ops, operands);
    OpTable back;
    unpackOps(chunk, ops.bytes(), operands.bytes(), back);
    ASSERT_EQ(back.ops.size(), table.ops.size());
    ASSERT_EQ(back.operands.size(), table.operands.size());
    for (size_t i = 0; i < table.ops.size(); ++i)
      ASSERT_TRUE(equal(back.ops[i], table.ops[i])) << i;
    for (size_t i = 0; i < table.operands.size(); ++i) {
      ASSERT_TRUE(equal(back.operands[i], table.operands[i])) << i;
    }
    std::vector<Op> opsOnly;
    unpackOpsOnly(chunk, ops.bytes(), opsOnly);
    ASSERT_EQ(opsOnly.size(), table.ops.size());
    EXPECT_EQ(opsOnly.back().operandCount, table.ops.back().operandCount);

    // Cut anywhere, the blocks give an error, never a crash; so does a count that is too large.
    OpTable ignored;
    for (size_t length = 0; length < operands.size(); length += 1 + operands.size() / 50) {
      try {
        unpackOps(chunk, ops.bytes(), operands.bytes().first(length), ignored);
      } catch (const Malformed&) {
      }
    }
    ++chunk.operandCount;
    chunk.count = kMostOpsOfChunk + 1;
    EXPECT_THROW(unpackOps(chunk, ops.bytes(), operands.bytes(), ignored), Malformed);
  }
}

TEST(RegionPacking, AnyRegionsComeBack) {
  RandomOps generator(6);
  constexpr int64_t kLargestId = int64_t{1} << 62;
  RegionChunkPacker packer;
  std::vector<RawRegion> regions(300);
  for (RawRegion& region : regions) {
    region.id = {generator.number(kLargestId)};
    region.parent = {generator.number(kLargestId)};
    region.kind = static_cast<RegionKind>(generator.random() % 6);
    region.thread = static_cast<uint32_t>(generator.number(UINT32_MAX));
    region.step = static_cast<int32_t>(generator.random());
    region.begin = {generator.number(kLargestId)};
    region.sequence = generator.random() % 2 == 0 ? -1 : generator.number(kLargestId);
    region.name = {static_cast<uint32_t>(generator.number(UINT32_MAX))};
    region.detail = {static_cast<uint32_t>(generator.number(UINT32_MAX))};
    packer.add(region);
  }
  ByteWriter out;
  packer.finish(out);
  const std::vector<RawRegion> back = unpackRegions(300, out.bytes());
  ASSERT_EQ(back.size(), regions.size());
  for (size_t i = 0; i < regions.size(); ++i) {
    EXPECT_EQ(back[i].id, regions[i].id);
    EXPECT_EQ(back[i].parent, regions[i].parent);
    EXPECT_EQ(back[i].kind, regions[i].kind);
    EXPECT_EQ(back[i].thread, regions[i].thread);
    EXPECT_EQ(back[i].step, regions[i].step);
    EXPECT_EQ(back[i].begin, regions[i].begin);
    EXPECT_EQ(back[i].sequence, regions[i].sequence);
    EXPECT_EQ(back[i].name, regions[i].name);
    EXPECT_EQ(back[i].detail, regions[i].detail);
  }
}

TEST(RecentMap, RemembersTheLatestInBoundedMemory) {
  RecentMap map(100);
  const auto key = [](int64_t i) {
    return Key128{static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15, static_cast<uint64_t>(i)};
  };
  for (int64_t i = 1; i <= 10000; ++i) {
    ASSERT_EQ(map.find(key(i)), 0);
    map.insert(key(i), i);
    ASSERT_EQ(map.find(key(1)), 1);  // what is in use stays
  }
  for (int64_t i = 9902; i <= 10000; ++i) EXPECT_EQ(map.find(key(i)), i);
  int known = 0;
  for (int64_t i = 1; i <= 10000; ++i) known += map.find(key(i)) != 0;
  EXPECT_LE(known, 200);
}

}  // namespace
}  // namespace ulpscope
