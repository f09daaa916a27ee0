#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "store/format.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/support/temp_folder.h"

namespace ulpscope {
namespace {

using testing::TempFolder;

std::vector<std::byte> noise(size_t bytes, uint32_t seed) {
  std::vector<std::byte> values(bytes);
  for (std::byte& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = std::byte(seed >> 24);
  }
  return values;
}

Fingerprint fingerprintOf(const std::vector<std::byte>& values) {
  const auto count = int64_t(values.size());
  return fingerprint({.data = values.data(), .dtype = DType::UInt8, .dim = 1, .sizes = &count},
                     Level::digest);
}

/// An op of which the one output has this content.
void addOpWith(EventBuffer& buffer, int64_t id, const Fingerprint& content, int64_t bytes) {
  RawOp op;
  op.id = {id};
  op.schema = {1};
  op.operandCount = 1;
  buffer.addOp(op, {});
  RawOperand operand;
  operand.role = Role::output;
  operand.dtype = DType::UInt8;
  operand.dim = 1;
  operand.hasStrides = true;
  operand.hasFingerprint = true;
  const int64_t stride = 1;
  buffer.addOperand(operand, &bytes, &stride, &content);
}

void capture(Writer& writer, int64_t id, const std::vector<std::byte>& values) {
  const Digest digest = fingerprintOf(values).digest;
  const auto bytes = int64_t(values.size());
  for (int64_t first = 0, part = 0; first < bytes; first += kCapturePartBytes, ++part) {
    const auto begin = values.begin() + first;
    const auto end = values.begin() + std::min(bytes, first + kCapturePartBytes);
    writer.capture({id}, digest, part, bytes, {begin, end});
  }
}

void writeOp(Writer& writer, int64_t id, const std::vector<std::byte>& values) {
  EventBuffer buffer;
  addOpWith(buffer, id, fingerprintOf(values), int64_t(values.size()));
  writer.submit(buffer);
}

FingerprintId printOf(const Reader& reader, int64_t id) {
  OpTable table;
  reader.readOps({id}, 1, table);
  return table.operands.at(0).fingerprint;
}

TEST(Capture, ValuesComeBackWholeWhateverTheirSize) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  const std::vector<size_t> sizes = {1,
                                     4096,
                                     size_t(kCapturePartBytes),
                                     size_t(kCapturePartBytes) + 1,
                                     3 * size_t(kCapturePartBytes) + 12345};
  {
    Writer writer(path, {.captureQueueBytes = 1 << 20});  // smaller than some
    for (size_t i = 0; i < sizes.size(); ++i) {
      writeOp(writer, int64_t(i + 1), noise(sizes[i], uint32_t(i)));
      capture(writer, int64_t(i + 1), noise(sizes[i], uint32_t(i)));
    }
    writeOp(writer, 6, noise(100, 77));
    EXPECT_TRUE(writer.capturing());
    writer.finish();
    EXPECT_FALSE(writer.capturing());
    EXPECT_EQ(writer.error(), "");
  }
  const Reader reader(path);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const FingerprintId id = printOf(reader, int64_t(i + 1));
    EXPECT_TRUE(reader.captured(id));
    EXPECT_EQ(reader.values(id), noise(sizes[i], uint32_t(i))) << sizes[i];
  }
  EXPECT_FALSE(reader.captured(printOf(reader, 6)));
  EXPECT_FALSE(reader.values(printOf(reader, 6)));
  EXPECT_FALSE(reader.captured({}));
}

TEST(Capture, EqualBytesTakeLittleRoom) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  {
    Writer writer(path, {});
    writeOp(writer, 1, std::vector<std::byte>(8 << 20));
    capture(writer, 1, std::vector<std::byte>(8 << 20));
    writer.finish();
  }
  EXPECT_LT(std::filesystem::file_size(path), 200u << 10);
  const Reader reader(path);
  EXPECT_EQ(reader.values(printOf(reader, 1)), std::vector<std::byte>(8 << 20));
}

TEST(Capture, PartsThatAreMissingOrAreOfOtherValuesGiveNothing) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  const auto cut = noise(3 << 20, 1);
  auto written = noise(1000, 2);
  {
    Writer writer(path, {});
    writeOp(writer, 1, cut);
    writer.capture({1}, fingerprintOf(cut).digest, 0, int64_t(cut.size()),
                   {cut.begin(), cut.begin() + kCapturePartBytes});
    writeOp(writer, 2, written);
    const Digest digest = fingerprintOf(written).digest;
    written[500] ^= std::byte{1};  // by another thread of the program, say
    writer.capture({2}, digest, 0, 1000, std::vector<std::byte>(written));
    writer.finish();
  }
  const Reader reader(path);
  EXPECT_FALSE(reader.captured(printOf(reader, 1)));
  EXPECT_FALSE(reader.values(printOf(reader, 1)));
  EXPECT_FALSE(reader.values(printOf(reader, 2)));
}

TEST(Capture, ALiveTraceGivesWhatIsThere) {
  TempFolder folder;
  Writer writer(folder.file("a.ulps"), {});
  const Reader reader(folder.file("a.ulps"));
  for (int64_t id = 1; id <= 3; ++id) {
    writeOp(writer, id, noise(1000, uint32_t(id)));
    capture(writer, id, noise(1000, uint32_t(id)));
    writer.flush();
    EXPECT_EQ(reader.values(printOf(reader, id)), noise(1000, uint32_t(id)));
  }
}

TEST(Capture, AFullDiskEndsTheCapturingAndNotTheTrace) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{3 << 20, 3 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Writer writer(path, {});
    for (int64_t id = 1; id <= 20; ++id) {
      writeOp(writer, id, noise(1 << 20, uint32_t(id)));
      capture(writer, id, noise(1 << 20, uint32_t(id)));
      writer.flush();
    }
    const bool ended = !writer.capturing();
    writer.finish();
    ::_exit(ended && writer.error().empty() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const Reader reader(path);
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.opCount(), 20);
  EXPECT_EQ(reader.values(printOf(reader, 1)), noise(1 << 20, 1));
  EXPECT_FALSE(reader.captured(printOf(reader, 20)));
  const std::vector<Event> events = reader.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "capture");
  EXPECT_EQ(events[0].text.find("{\"ended\": \"disk\""), 0u) << events[0].text;
}

TEST(Capture, AFileOfTheFirstFormatHasNone) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  {
    Writer writer(path, {});
    writeOp(writer, 1, noise(1000, 1));
    writer.finish();
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "DROP TABLE capture; PRAGMA user_version=1", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const Reader reader(path);
  EXPECT_EQ(reader.formatVersion(), 1);
  EXPECT_EQ(reader.opCount(), 1);
  EXPECT_FALSE(reader.captured(printOf(reader, 1)));
  EXPECT_FALSE(reader.values(printOf(reader, 1)));
}

}  // namespace
}  // namespace ulpscope
