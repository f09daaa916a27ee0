#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "store/reader.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_builder.h"

namespace ulpscope {
namespace {

using testing::TempFolder;
using testing::TraceBuilder;
using Code = TraceError::Code;

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spit(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void makeTrace(const std::string& path) {
  TraceBuilder t(path);
  t.writer().environment("torch", "2.13.0");
  auto root = t.module("", "Model");
  auto x = t.random({4, 4});
  for (int step = 0; step < 3; ++step) {
    t.step(step);
    for (int i = 0; i < 8; ++i) {
      auto layer = t.module("layer." + std::to_string(i), "Layer");
      auto y = t.random({4, 4});
      t.op({.name = "aten::mm",
            .inputs = {x, t.parameter({4, 4})},
            .outputs = {y},
            .scalars =
                [](ScalarPacker& s) {
                  s.integer(2, 1);
                  s.text(3, "none");
                },
            .stack = {{"train.py", 10 + i, "forward"}},
            .provenance = {"g",
                           "k",
                           {{"mm", "aten::mm", "default", "layer", "Layer", false, 0, {}}},
                           {{0, 0, 1, "only"}},
                           "code"},
            .sequence = i});
      x = y;
    }
  }
  t.writer().event({3}, "graph", "{}");
  // 0.0F, which the trace has an operand of.
  const float zero = 0;
  const StridedView view{.data = &zero, .dtype = DType::Float32};
  t.op({.name = "aten::zeros", .outputs = {t.tensor({}, {0})}});
  t.writer().capture({1}, fingerprint(view, Level::digest).digest, 0, sizeof zero,
                     std::vector<std::byte>(sizeof zero));
}

/// Reads all that a trace has.
size_t readEverything(const std::string& path) {
  const Reader reader(path);
  size_t sum = reader.environment().size() + reader.events().size() + reader.meta("command").size();
  const Coverage coverage = reader.coverage();
  sum += coverage.skipped.size() + (reader.complete() ? 1 : 0) + reader.regions().size() +
         static_cast<size_t>(reader.schemaCount());
  const OpTable table = reader.readAll();
  for (const Op& op : table.ops) {
    sum += reader.schema(op.schema).qualified().size() + reader.stack(op.stack).size() +
           reader.provenance(op.provenance).sources.size() + reader.scalars(op.scalars).size() +
           reader.region(op.region).name.size() + reader.module(op).first.size();
    for (const Operand& operand : table.of(op)) {
      sum += reader.type(operand.type).sizes.size() + reader.type(operand.type).device.size();
      sum += reader.digest(operand.fingerprint).low % 2;
      sum += reader.fingerprint(operand.fingerprint).statistics.components;
      if (const auto values = reader.values(operand.fingerprint)) sum += values->size();
    }
  }
  OpTable page;
  reader.readOps({2}, 5, page);
  for (int32_t step : reader.steps()) sum += reader.readStep(step).ops.size();
  return sum + page.ops.size();
}

Code codeOf(const std::string& path) {
  try {
    readEverything(path);
  } catch (const TraceError& error) {
    const std::string line = error.what();
    EXPECT_EQ(line.find(path), 0u) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    return error.code();
  }
  ADD_FAILURE() << path << " was read";
  return Code::io;
}

void execute(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_close(database);
}

TEST(Hostile, WhatIsNoTrace) {
  TempFolder folder;
  EXPECT_EQ(codeOf(folder.file("missing.ulps")), Code::missing);
  EXPECT_EQ(codeOf(folder.file("missing/a.ulps")), Code::missing);
  EXPECT_EQ(codeOf(folder.path()), Code::notATrace);
  EXPECT_EQ(codeOf("/dev/null"), Code::notATrace);
  spit(folder.file("empty"), "");
  EXPECT_EQ(codeOf(folder.file("empty")), Code::notATrace);
  spit(folder.file("text"), "this is a text file, long enough to look like something at all\n");
  EXPECT_EQ(codeOf(folder.file("text")), Code::notATrace);
  spit(folder.file("short"), "x");
  EXPECT_EQ(codeOf(folder.file("short")), Code::notATrace);
  spit(folder.file("zeros"), std::string(100000, '\0'));
  EXPECT_EQ(codeOf(folder.file("zeros")), Code::notATrace);
  execute(folder.file("other.db"), "CREATE TABLE op(x); INSERT INTO op VALUES(1)");
  EXPECT_EQ(codeOf(folder.file("other.db")), Code::notATrace);
  makeTrace(folder.file("trace.ulps"));
  EXPECT_EQ(codeOf(folder.file("trace.ulps/x")), Code::missing);
}

TEST(Hostile, OddNamesAreJustNames) {
  TempFolder folder;
  for (const char* name : {"a?mode=rw#%20 b.ulps", ":memory:", "file:x.ulps", "\xc3\xa9.ulps"}) {
    const std::string path = folder.file(name);
    makeTrace(path);
    EXPECT_GT(readEverything(path), 100u) << name;
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    EXPECT_GT(readEverything(name), 100u) << name;
    std::filesystem::current_path(before);
  }
}

TEST(Hostile, ANewerFormatSaysSo) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  makeTrace(path);
  execute(path, "PRAGMA user_version = 3");
  EXPECT_EQ(codeOf(path), Code::newer);
  try {
    Reader reader(path);
  } catch (const TraceError& error) {
    EXPECT_NE(std::string(error.what()).find("update ulpscope"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("format 3"), std::string::npos);
  }
  execute(path, "PRAGMA user_version = 0");
  EXPECT_EQ(codeOf(path), Code::corrupt);
}

TEST(Hostile, TablesThatWereTamperedWith) {
  TempFolder folder;
  const std::string good = folder.file("good.ulps");
  makeTrace(good);
  const char* const cases[] = {
      "DROP TABLE op",
      "ALTER TABLE op RENAME TO other; CREATE VIEW op AS SELECT * FROM other",
      "ALTER TABLE string RENAME TO s2; CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT, x)",
      "UPDATE op SET count = 1000000000",
      "UPDATE op SET count = -1",
      "UPDATE op SET operand_count = 9000000000000000000",
      "UPDATE op SET operand_count = 0",
      "UPDATE op SET last = first - 1",
      "UPDATE op SET ops = x'00'",
      "UPDATE op SET ops = NULL",
      "UPDATE op SET ops = 'text'",
      "UPDATE op SET operands = x'0109ffffffffffffffffff'",
      "UPDATE region SET count = 1000000000",
      "UPDATE region SET count = count + 1, packed = x'00'",
      "UPDATE fingerprint SET count = count + 1",
      "UPDATE fingerprint SET count = 1 << 60",
      "UPDATE fingerprint SET digests = x''",
      "UPDATE fingerprint SET rests = substr(rests, 1, length(rests) / 2)",
      "UPDATE fingerprint SET rests = zeroblob(5)",
      "UPDATE fingerprint SET first = 7",
      "DELETE FROM string WHERE id = 1",
      "UPDATE schema SET id = 1000000 WHERE id = 1",
      "UPDATE schema SET packed = x'ffffffffffffffffff'",
      "UPDATE type SET packed = x'060003637075ffff7f'",
      "UPDATE stack SET packed = x'ff'",
      "UPDATE provenance SET packed = x'010101ffffff7f'",
      "UPDATE scalars SET packed = x'0000ff'",
      "DROP TABLE capture",
      "UPDATE capture SET digest = x'00'",
      "UPDATE capture SET part = 5",
      "UPDATE capture SET bytes = 0",
      "UPDATE capture SET packed = x'00'",
      "UPDATE capture SET packed = x'01ffffffff'",
  };
  for (const char* sql : cases) {
    SCOPED_TRACE(sql);
    const std::string path = folder.file("bad.ulps");
    spit(path, slurp(good));
    execute(path, sql);
    EXPECT_EQ(codeOf(path), Code::corrupt);
  }
}

TEST(Hostile, CountsCannotTakeAllMemory) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  makeTrace(path);
  // Each row claims 65,536 ops of zeros in a few bytes.
  execute(
      path,
      "DELETE FROM op; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
      "20000) INSERT INTO op SELECT i, 1, 65536, 0, 65536, 0, x'0000', x'0000' FROM n");
  EXPECT_EQ(codeOf(path), Code::corrupt);
  makeTrace(folder.file("b.ulps"));
  execute(
      folder.file("b.ulps"),
      "DELETE FROM region; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
      "i < 20000) INSERT INTO region SELECT i, 65536, x'0000' FROM n");
  EXPECT_EQ(codeOf(folder.file("b.ulps")), Code::corrupt);
}

TEST(Hostile, TruncatedAnywhere) {
  TempFolder folder;
  const std::string good = folder.file("good.ulps");
  makeTrace(good);
  const std::string bytes = slurp(good);
  const size_t whole = readEverything(good);
  for (size_t length = 0; length < bytes.size(); length += length < 200 ? 13 : 509) {
    const std::string path = folder.file("cut.ulps");
    spit(path, bytes.substr(0, length));
    try {
      EXPECT_LE(readEverything(path), whole);
    } catch (const TraceError& error) {
      EXPECT_EQ(std::string(error.what()).find(path), 0u);
    }
  }
}

void readDamaged(const std::string& path, const std::string& bytes) {
  spit(path, bytes);
  try {
    readEverything(path);
  } catch (const TraceError& error) {
    EXPECT_EQ(std::string(error.what()).find(path), 0u) << error.what();
  }
}

TEST(Hostile, FlippedBits) {
  TempFolder folder;
  const std::string good = folder.file("good.ulps");
  makeTrace(good);
  const std::string bytes = slurp(good);
  std::mt19937_64 random(11);
  const std::string path = folder.file("flipped.ulps");
  for (int round = 0; round < 1600; ++round) {
    std::string damaged = bytes;
    // One bit at each of the header's places, then some bits anywhere.
    if (round < 800) {
      damaged[static_cast<size_t>(round / 8)] ^= static_cast<char>(1 << round % 8);
    } else {
      for (uint64_t flips = 1 + random() % 8; flips-- > 0;) {
        damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      }
    }
    readDamaged(path, damaged);
  }
}

TEST(Hostile, OverwrittenStretches) {
  TempFolder folder;
  const std::string good = folder.file("good.ulps");
  makeTrace(good);
  const std::string bytes = slurp(good);
  std::mt19937_64 random(12);
  for (int round = 0; round < 500; ++round) {
    std::string damaged = bytes;
    const size_t at = random() % damaged.size();
    const size_t length = std::min<size_t>(damaged.size() - at, 1 + random() % 200);
    for (size_t i = 0; i < length; ++i) {
      damaged[at + i] = round % 3 == 0   ? '\xff'
                        : round % 3 == 1 ? '\0'
                                         : static_cast<char>(random());
    }
    readDamaged(folder.file("damaged.ulps"), damaged);
  }
}

TEST(Hostile, AForeignLogBesideATrace) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  makeTrace(path);
  std::mt19937_64 random(13);
  std::string noise(100000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  spit(path + "-wal", noise);
  EXPECT_GT(readEverything(path), 100u);
  EXPECT_EQ(slurp(path + "-wal"), noise);
}

}  // namespace
}  // namespace ulpscope
