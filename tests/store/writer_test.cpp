#include "store/writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "store/reader.h"
#include "tests/store/raw_events.h"
#include "tests/support/temp_folder.h"

namespace ulpscope {
namespace {

using testing::addSimpleOp;
using testing::TempFolder;

TEST(Writer, ManyThreadsSubmitAndIntern) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  constexpr int kThreads = 8;
  constexpr int64_t kOpsEach = 3000;
  std::atomic<int64_t> nextId{0};
  {
    Writer writer(path, {.queueBytes = 256 << 10, .flushMilliseconds = 5});
    std::vector<std::thread> threads;
    for (int n = 0; n < kThreads; ++n) {
      threads.emplace_back([&, n] {
        EventBuffer buffer;
        for (int64_t i = 0; i < kOpsEach; ++i) {
          const SchemaId schema = writer.schema({"op" + std::to_string(i % 50), "", {}, {}});
          const int64_t id = ++nextId;
          addSimpleOp(buffer, id, schema, 1, 0, static_cast<uint32_t>(n));
          if (i % 100 == 0) writer.event({id}, "message", "{}");
          if (i % 37 == 0) writer.submit(buffer);
        }
        writer.submit(buffer);
      });
    }
    for (std::thread& thread : threads) thread.join();
    writer.finish();
    ASSERT_EQ(writer.error(), "");
  }
  const Reader reader(path);
  const OpTable table = reader.readAll();
  ASSERT_EQ(table.ops.size(), static_cast<size_t>(kThreads * kOpsEach));
  std::vector<int64_t> each(kThreads);
  for (size_t i = 0; i < table.ops.size(); ++i) {
    ASSERT_EQ(table.ops[i].id.value, static_cast<int64_t>(i + 1));
    ASSERT_EQ(table.of(table.ops[i])[1].storage.value, static_cast<int64_t>(i + 1));
    const int64_t ofThread = each[table.ops[i].thread]++;
    ASSERT_EQ(reader.schema(table.ops[i].schema).name, "op" + std::to_string(ofThread % 50));
  }
  EXPECT_EQ(reader.schemaCount(), 50);
  EXPECT_EQ(reader.events().size(), static_cast<size_t>(kThreads * kOpsEach / 100));
  OpTable page;
  reader.readOps({777}, 500, page);
  ASSERT_EQ(page.ops.size(), 500u);
  for (size_t i = 0; i < 500; ++i) ASSERT_EQ(page.ops[i].id.value, static_cast<int64_t>(777 + i));
}

TEST(Writer, AFullQueueWaitsAndDropsNothing) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  constexpr int64_t kOps = 30000;
  {
    Writer writer(path, {.queueBytes = 1});  // each buffer is larger than the queue
    EventBuffer buffer;
    for (int64_t id = 1; id <= kOps; ++id) {
      addSimpleOp(buffer, id, {1}, 1);
      if (id % 10 == 0) writer.submit(buffer);
    }
    writer.finish();
    ASSERT_EQ(writer.error(), "");
  }
  EXPECT_EQ(Reader(path).opCount(), kOps);
}

TEST(Writer, FlushMakesAllThatWasSubmittedReadable) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  Writer writer(path, {.flushMilliseconds = 3'600'000});
  EventBuffer buffer;
  for (int64_t id = 1; id <= 10; ++id) {
    addSimpleOp(buffer, id, writer.schema({"aten::op", "", {}, {}}), 1);
    writer.submit(buffer);
    writer.flush();
    const Reader reader(path);
    EXPECT_EQ(reader.opCount(), id);
    EXPECT_FALSE(reader.complete());
  }
  writer.flush();  // nothing to do
}

TEST(Writer, ABatchIsCommittedOnTime) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  Writer writer(path, {.flushMilliseconds = 1});
  EventBuffer buffer;
  addSimpleOp(buffer, 1, {1}, 1);
  writer.submit(buffer);
  const Reader reader(path);
  while (reader.opCount() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(reader.opCount(), 1);
}

TEST(Writer, TheTickCollectsOnTheWritersThread) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  std::mutex mutex;
  EventBuffer mine;
  std::atomic<int> ticks{0};
  std::thread::id ticker;
  {
    Writer writer(path, {.queueBytes = 1, .flushMilliseconds = 1});
    writer.onTick([&] {
      const std::lock_guard lock(mutex);
      ticker = std::this_thread::get_id();
      // More than the queue takes, twice: the writer's thread must not wait for itself.
      EventBuffer half;
      addSimpleOp(half, 1000 + ++ticks, {1}, 1);
      writer.submit(half);
      writer.submit(mine);
      writer.flush();
      if (ticks == 3) throw std::runtime_error("a collector's failure stays its own");
    });
    for (int64_t id = 1; id <= 10; ++id) {
      const std::lock_guard lock(mutex);
      addSimpleOp(mine, id, {1}, 1);
    }
    while (ticks < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    writer.finish();
    EXPECT_EQ(writer.error(), "");
    const int last = ticks;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(ticks, last);  // none after finish
  }
  EXPECT_NE(ticker, std::this_thread::get_id());
  EXPECT_GE(Reader(path).opCount(), 15);
}

TEST(Writer, LaterCallsDoNothing) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  Writer writer(path, {});
  EventBuffer buffer;
  addSimpleOp(buffer, 1, {1}, 1);
  writer.submit(buffer);
  writer.finish();
  addSimpleOp(buffer, 2, {1}, 1);
  writer.submit(buffer);
  EXPECT_TRUE(buffer.empty());
  writer.meta("late", "1");
  writer.flush();
  writer.finish();
  const Reader reader(path);
  EXPECT_EQ(reader.opCount(), 1);
  EXPECT_EQ(reader.meta("late"), "");
  EXPECT_EQ(writer.error(), "");
}

TEST(Writer, MalformedEventsStopWritingWithAMessage) {
  for (int kind = 0; kind < 6; ++kind) {
    TempFolder folder;
    const std::string path = folder.file("a.ulps");
    Writer writer(path, {});
    EventBuffer good;
    addSimpleOp(good, 1, {1}, 1);
    writer.submit(good);
    writer.flush();
    EventBuffer bad;
    RawOp op;
    op.id = {2};
    const std::byte scalar[] = {std::byte{0}, std::byte{0}, std::byte{99}};
    RawOperand operand;
    switch (kind) {
      case 0:  // operands that are not there
        op.operandCount = 3;
        bad.addOp(op, {});
        break;
      case 1:  // a tag that does not exist
        bad.addBytes(std::span(scalar).subspan(2));
        break;
      case 2:  // scalars that are not there
        op.scalarBytes = 1000;
        bad.addOp(op, {});
        break;
      case 3:  // a scalar of no kind
        op.scalarBytes = 3;
        bad.addOp(op, scalar);
        break;
      case 4:  // dims that are not there
        op.operandCount = 1;
        bad.addOp(op, {});
        operand.dim = INT32_MAX;
        operand.hasStrides = true;
        bad.addBytes(std::as_bytes(std::span(&operand, 1)));
        break;
      default:  // a negative number of dims
        op.operandCount = 1;
        bad.addOp(op, {});
        operand.dim = -1;
        bad.addBytes(std::as_bytes(std::span(&operand, 1)));
        break;
    }
    writer.submit(bad);
    writer.flush();
    EXPECT_EQ(writer.error().find(path), 0u) << kind << writer.error();
    addSimpleOp(good, 3, {1}, 1);
    writer.submit(good);
    writer.finish();
    const Reader reader(path);
    EXPECT_EQ(reader.opCount(), 1) << kind;
    EXPECT_FALSE(reader.complete()) << kind;
  }
}

TEST(Writer, ALiveTraceIsReadWhileItGrows) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  std::atomic<bool> done{false};
  constexpr int64_t kOps = 40000;
  Writer writer(path, {.flushMilliseconds = 1});
  std::jthread program([&] {
    EventBuffer buffer;
    for (int64_t id = 1; id <= kOps; ++id) {
      const SchemaId schema = writer.schema({"op" + std::to_string(id / 100), "", {}, {}});
      if (id % 100 == 1) {
        buffer.addRegion({.id = {id},
                          .kind = RegionKind::module,
                          .begin = {id},
                          .name = writer.string("m" + std::to_string(id))});
      }
      addSimpleOp(buffer, id, schema, 1, static_cast<int32_t>(id / 1000));
      if (id % 100 == 0) writer.submit(buffer);
    }
    writer.flush();
    done = true;
  });
  {
    const Reader reader(path);
    int64_t seen = 0;
    const Region* firstRegion = nullptr;
    for (bool last = false; !last;) {
      last = done;
      const int64_t count = reader.opCount();
      ASSERT_GE(count, seen);
      ASSERT_GE(reader.lastOp().value, count);
      seen = count;
      if (count == 0) continue;
      OpTable page;
      reader.readOps({count}, 10, page);
      ASSERT_FALSE(page.ops.empty());
      const Op& op = page.ops.front();
      ASSERT_EQ(op.id.value, count);
      ASSERT_EQ(reader.schema(op.schema).name, "op" + std::to_string(count / 100));
      const Operand& output = page.of(op)[1];
      ASSERT_EQ(reader.digest(output.fingerprint), testing::numberedFingerprint(count).digest);
      ASSERT_EQ(reader.fingerprint(output.fingerprint).statistics.sum, static_cast<double>(count));
      const int64_t region = (count - 1) / 100 * 100 + 1;
      ASSERT_EQ(reader.region({region}).name, "m" + std::to_string(region));
      if (firstRegion == nullptr) firstRegion = &reader.region({1});
      ASSERT_EQ(firstRegion->name, "m1");  // references stay
      ASSERT_FALSE(reader.complete());
    }
    program.join();
    EXPECT_EQ(reader.opCount(), kOps);
    writer.finish();  // with a reader in the way
    EXPECT_EQ(writer.error(), "");
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.readAll().ops.size(), static_cast<size_t>(kOps));
  }
  const Reader reader(path);
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.opCount(), kOps);
}

}  // namespace
}  // namespace ulpscope
