#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "store/format.h"
#include "store/reader.h"
#include "tests/store/raw_events.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_builder.h"

namespace ulpscope {
namespace {

using testing::addSimpleOp;
using testing::TempFolder;
using testing::TraceBuilder;

TEST(RoundTrip, WhatTheBuilderWrites) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  {
    TraceBuilder t(path);
    t.writer().environment("torch", "2.13.0");
    t.writer().meta("command", "python train.py");
    auto x = t.tensor({2, 3}, {1, 2, 3, 4, 5, 6});
    auto w = t.parameter({3, 3});
    auto h = t.random({2, 3});
    {
      auto scope = t.module("encoder.0", "Linear");
      t.op("aten::mm", {x, w}, {h});
      t.op({.name = "aten::add_.Tensor",
            .mutated = {{h, {1, 1, 1, 1, 1, 1}}},
            .scalars = [](ScalarPacker& s) { s.floating(2, 0.5); }});
    }
    t.step(1);
    t.op("aten::relu", {h}, {t.random({2, 3})});
    t.finish();
    EXPECT_EQ(t.writer().error(), "");
    EXPECT_EQ(t.writer().path(), path);
  }
  const Reader reader(path);
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.path(), path);
  EXPECT_EQ(reader.formatVersion(), kFormatVersion);
  EXPECT_EQ(reader.fingerprintVersion(), kFingerprintVersion);
  EXPECT_EQ(reader.meta("command"), "python train.py");
  EXPECT_EQ(reader.meta("absent"), "");
  EXPECT_EQ(reader.opCount(), 3);
  EXPECT_EQ(reader.lastOp(), OpId{3});
  const OpTable table = reader.readAll();
  ASSERT_EQ(table.ops.size(), 3u);
  EXPECT_EQ(reader.schema(table.ops[1].schema).qualified(), "aten::add_.Tensor");
  EXPECT_EQ(reader.scalars(table.ops[1].scalars), (std::vector<Scalar>{{2, "0.5"}}));
  EXPECT_TRUE(reader.scalars(table.ops[0].scalars).empty());
  const auto operands = table.of(table.ops[1]);
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(operands[0].role, Role::before);
  EXPECT_EQ(operands[1].role, Role::after);
  EXPECT_EQ(operands[0].writer, OpId{1});
  EXPECT_EQ(operands[0].closure, Closure::matched);
  EXPECT_EQ(operands[0].fingerprint, table.of(table.ops[0])[2].fingerprint);
  EXPECT_EQ(reader.digest(operands[0].fingerprint),
            reader.fingerprint(operands[0].fingerprint).digest);
  EXPECT_EQ(reader.type(operands[0].type),
            (TensorType{DType::Float32, Layout::strided, "cpu", {2, 3}, {3, 1}}));
  EXPECT_EQ(reader.fingerprint(operands[1].fingerprint).statistics.sum, 6.0);
  EXPECT_EQ(table.of(table.ops[0])[1].flags, kParameter | kRequiresGrad);
  EXPECT_EQ(table.of(table.ops[0])[1].closure, Closure::source);
  EXPECT_EQ(reader.steps(), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(reader.readStep(1).ops.size(), 1u);
  EXPECT_EQ(reader.readStep(1).operands.size(), 2u);
  EXPECT_TRUE(reader.readStep(7).ops.empty());
}

TEST(RoundTrip, AFinishedTraceIsOneFileForItsOwnerAlone) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  const mode_t before = ::umask(0);
  {
    TraceBuilder t(path);
    t.op("aten::relu", {t.random({4})}, {t.random({4})});
    t.flush();
    struct stat status {};
    ASSERT_EQ(::stat((path + "-wal").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const Reader reader(path);
  EXPECT_EQ(reader.readAll().ops.size(), 1u);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    files += entry.is_regular_file();
  }
  EXPECT_EQ(files, 1);
}

TEST(RoundTrip, FieldsOfOpsAndOperandsWithAllEnumValues) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  std::vector<RawOp> ops;
  std::vector<RawOperand> operands;
  {
    Writer writer(path, {});
    const SchemaId schema = writer.schema({"aten::op", "out", {"a", "b"}, {"c"}});
    const StackId stack = writer.stack({{"train.py", 12, "main"}, {"<string>", -1, ""}});
    EventBuffer buffer;
    for (int i = 0; i < 60; ++i) {
      RawOp op;
      op.id = {i + 1};
      op.parent = {i % 5 == 4 ? i : 0};
      op.kind = static_cast<OpKind>(i % 5);
      op.phase = static_cast<Phase>(i % 4);
      op.raised = i % 7 == 0;
      op.thread = static_cast<uint32_t>(i % 3);
      op.step = i / 20 - 1;
      op.region = {i % 6};
      op.schema = schema;
      if (i % 2 == 0) op.stack = stack;
      op.sequence = i % 3 == 0 ? -1 : i;
      op.forwardThread = static_cast<uint32_t>(i % 2);
      op.operandCount = 3;
      buffer.addOp(op, {});
      ops.push_back(op);
      for (int k = 0; k < 3; ++k) {
        const int n = 3 * i + k;
        RawOperand operand;
        operand.role = static_cast<Role>(n % 4);
        operand.skip = static_cast<SkipReason>(n % 11);
        operand.closure = static_cast<Closure>(n % 4);
        operand.flags = static_cast<uint8_t>(n);
        operand.arg = static_cast<int16_t>(n % 5);
        operand.item = static_cast<int16_t>(n % 3 - 1);
        operand.dtype = static_cast<DType>(n % kDTypeCount);
        operand.layout = static_cast<Layout>(n % 5);
        operand.deviceType = static_cast<uint8_t>(n % 2);
        operand.deviceIndex = static_cast<int8_t>(n % 3 - 1);
        operand.dim = n % 4;
        operand.hasStrides = operand.layout == Layout::strided;
        operand.hasFingerprint = operand.skip == SkipReason::none;
        operand.storage = {n};
        operand.offset = 100 - n;
        operand.writer = {i / 2};
        const int64_t sizes[] = {n, 0, 7};
        const int64_t strides[] = {0, -3, int64_t{1} << 40};
        const Fingerprint fingerprint = testing::numberedFingerprint(n);
        buffer.addOperand(operand, sizes, strides, &fingerprint);
        operands.push_back(operand);
      }
    }
    writer.submit(buffer);
    EXPECT_TRUE(buffer.empty());
    writer.finish();
    ASSERT_EQ(writer.error(), "");
  }
  const Reader reader(path);
  const OpTable table = reader.readAll();
  ASSERT_EQ(table.ops.size(), ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    SCOPED_TRACE(i);
    const Op& op = table.ops[i];
    EXPECT_EQ(op.id, ops[i].id);
    EXPECT_EQ(op.parent, ops[i].parent);
    EXPECT_EQ(op.kind, ops[i].kind);
    EXPECT_EQ(op.phase, ops[i].phase);
    EXPECT_EQ(op.raised, ops[i].raised);
    EXPECT_EQ(op.thread, ops[i].thread);
    EXPECT_EQ(op.step, ops[i].step);
    EXPECT_EQ(op.region, ops[i].region);
    EXPECT_EQ(op.stack, ops[i].stack);
    EXPECT_EQ(op.sequence, ops[i].sequence);
    EXPECT_EQ(op.forwardThread, ops[i].forwardThread);
    const auto found = table.of(op);
    ASSERT_EQ(found.size(), 3u);
    for (size_t k = 0; k < 3; ++k) {
      const RawOperand& raw = operands[3 * i + k];
      EXPECT_EQ(found[k].role, raw.role);
      EXPECT_EQ(found[k].skip, raw.skip);
      EXPECT_EQ(found[k].closure, raw.closure);
      EXPECT_EQ(found[k].flags, raw.flags);
      EXPECT_EQ(found[k].arg, raw.arg);
      EXPECT_EQ(found[k].item, raw.item);
      EXPECT_EQ(found[k].storage, raw.storage);
      EXPECT_EQ(found[k].offset, raw.offset);
      EXPECT_EQ(found[k].writer, raw.writer);
      EXPECT_EQ(static_cast<bool>(found[k].fingerprint), raw.hasFingerprint);
      const TensorType& type = reader.type(found[k].type);
      EXPECT_EQ(type.dtype, raw.dtype);
      EXPECT_EQ(type.layout, raw.layout);
      EXPECT_EQ(type.sizes.size(), static_cast<size_t>(raw.dim));
      EXPECT_EQ(type.strides.size(), raw.hasStrides ? type.sizes.size() : 0u);
      EXPECT_EQ(type.device, raw.deviceType == 0   ? "cpu"
                             : raw.deviceIndex < 0 ? "cuda"
                                                   : "cuda:" + std::to_string(raw.deviceIndex));
    }
  }
  EXPECT_EQ(reader.stack({1}), (Stack{{"train.py", 12, "main"}, {"<string>", -1, ""}}));
  EXPECT_EQ(reader.steps(), (std::vector<int32_t>{-1, 0, 1}));
  const Schema& schema = reader.schema(table.ops[0].schema);
  EXPECT_EQ(schema.arguments, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(schema.returns, (std::vector<std::string>{"c"}));
  EXPECT_EQ(reader.schemaCount(), 1);
}

TEST(RoundTrip, RegionsProvenancesEventsAndFacts) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  Provenance provenance{"graph0", "cpp_fused_add_0", {}, {}, "extern \"C\" void kernel() {}"};
  provenance.sources.push_back(
      {"add", "aten::add", "Tensor", "h.0", "Block", true, 7, {{"m.py", 3, "f"}}});
  provenance.sources.push_back({"relu", "aten::relu", "default", "", "", false, -1, {}});
  provenance.ties.push_back({3, 1, 0.75f, "shape", 2, true});
  provenance.ties.push_back({-1, -1, 0.0f, "", 0, false});
  {
    Writer writer(path, {});
    EventBuffer buffer;
    for (int i = 0; i < 6; ++i) {
      RawRegion region;
      region.id = {10 * (6 - i)};  // not in order
      region.parent = {i};
      region.kind = static_cast<RegionKind>(i);
      region.thread = static_cast<uint32_t>(i);
      region.step = i - 2;
      region.begin = {100 - i};
      region.sequence = i - 1;
      region.name = writer.string("name" + std::to_string(i));
      region.detail = writer.string(i % 2 == 0 ? "" : "detail");
      buffer.addRegion(region);
    }
    writer.submit(buffer);
    EXPECT_EQ(writer.provenance(provenance), ProvenanceId{1});
    writer.event({5}, "graph_break", R"({"reason": "print"})");
    writer.event({6}, "message", "");
    writer.environment("z", "1");
    writer.environment("a", "2");
    writer.environment("z", "3");
    writer.meta("rank", "0");
    writer.meta("rank", "1");
    writer.meta("text", std::string("a\0b\xff", 4));
    writer.finish();
    ASSERT_EQ(writer.error(), "");
  }
  const Reader reader(path);
  const std::vector<Region>& regions = reader.regions();
  ASSERT_EQ(regions.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    const Region& region = regions[static_cast<size_t>(5 - i)];
    EXPECT_EQ(region.id, RegionId{10 * (6 - i)});
    EXPECT_EQ(region.parent, RegionId{i});
    EXPECT_EQ(region.kind, static_cast<RegionKind>(i));
    EXPECT_EQ(region.thread, static_cast<uint32_t>(i));
    EXPECT_EQ(region.step, i - 2);
    EXPECT_EQ(region.begin, OpId{100 - i});
    EXPECT_EQ(region.sequence, i - 1);
    EXPECT_EQ(region.name, "name" + std::to_string(i));
    EXPECT_EQ(region.detail, i % 2 == 0 ? "" : "detail");
    EXPECT_EQ(&reader.region(region.id), &region);
  }
  EXPECT_EQ(reader.region({1}).id, RegionId{});
  EXPECT_EQ(reader.provenance({1}), provenance);
  const std::vector<Event> events = reader.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at, OpId{5});
  EXPECT_EQ(events[0].kind, "graph_break");
  EXPECT_EQ(events[0].text, R"({"reason": "print"})");
  const std::vector<KeyValue>& environment = reader.environment();
  ASSERT_EQ(environment.size(), 2u);
  EXPECT_EQ(environment[0].key, "z");
  EXPECT_EQ(environment[0].value, "3");
  EXPECT_EQ(environment[1].key, "a");
  EXPECT_EQ(reader.meta("rank"), "1");
  EXPECT_EQ(reader.meta("text"), std::string("a\0b\xff", 4));
}

TEST(RoundTrip, UnknownIdsGiveEmptyRecords) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  { TraceBuilder t(path); }
  const Reader reader(path);
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.opCount(), 0);
  EXPECT_EQ(reader.lastOp(), OpId{});
  EXPECT_TRUE(reader.readAll().ops.empty());
  EXPECT_TRUE(reader.steps().empty());
  for (uint32_t id : {0u, 1u, UINT32_MAX}) {
    EXPECT_EQ(reader.schema({id}).qualified(), "");
    EXPECT_EQ(reader.type({id}), TensorType{});
    EXPECT_TRUE(reader.stack({id}).empty());
    EXPECT_EQ(reader.provenance({id}), Provenance{});
    EXPECT_TRUE(reader.scalars({id}).empty());
  }
  for (int64_t id : {int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(reader.region({id}).name, "");
    EXPECT_EQ(reader.digest({id}), Digest{});
    EXPECT_EQ(reader.fingerprint({id}).digest, Digest{});
  }
}

TEST(RoundTrip, EqualValuesAreStoredOnce) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  {
    Writer writer(path, {});
    const Schema schema{"aten::add", "Tensor", {}, {}};
    EXPECT_EQ(writer.schema(schema), writer.schema(schema));
    EXPECT_NE(writer.schema(schema), writer.schema({"aten::add", "Scalar", {}, {}}));
    EXPECT_EQ(writer.string("x"), writer.string("x"));
    EXPECT_NE(writer.string("x"), writer.string(""));
    EXPECT_EQ(writer.stack({{"f", 1, "g"}}), writer.stack({{"f", 1, "g"}}));
    EXPECT_NE(writer.stack({{"f", 1, "g"}}), writer.stack({{"f", 2, "g"}}));
    EventBuffer buffer;
    for (int64_t id = 1; id <= 100; ++id) addSimpleOp(buffer, id, {1}, id - id % 10);
    writer.submit(buffer);
    writer.finish();
  }
  const Reader reader(path);
  const OpTable table = reader.readAll();
  std::set<FingerprintId> fingerprints;
  std::set<TypeId> types;
  for (const Operand& operand : table.operands) {
    fingerprints.insert(operand.fingerprint);
    types.insert(operand.type);
  }
  EXPECT_EQ(fingerprints.size(), 101u);  // 0 to 100
  EXPECT_EQ(types.size(), 1u);
  for (const Op& op : table.ops) {
    const Operand& output = table.of(op)[1];
    const Fingerprint expected = testing::numberedFingerprint(op.id.value);
    const Fingerprint found = reader.fingerprint(output.fingerprint);
    EXPECT_EQ(found.digest, expected.digest);
    EXPECT_EQ(found.statistics.sum, expected.statistics.sum);
    EXPECT_EQ(found.sketch, expected.sketch);
    EXPECT_EQ(reader.digest(output.fingerprint), expected.digest);
  }
}

TEST(RoundTrip, TheSameBytesAsAnotherDTypeKeepTheirOwnStatistics) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  {
    TraceBuilder t(path);
    t.op("aten::view", {t.tensor({2}, {0, 0}, DType::Float32)}, {t.tensor({1}, {0}, DType::Int64)});
  }
  const Reader reader(path);
  const OpTable table = reader.readAll();
  const Fingerprint a = reader.fingerprint(table.operands[0].fingerprint);
  const Fingerprint b = reader.fingerprint(table.operands[1].fingerprint);
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.statistics.components, 2u);
  EXPECT_EQ(b.statistics.components, 1u);
}

TEST(RoundTrip, ManyFingerprintsAndChunks) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  constexpr int64_t kOps = 20000;
  {
    Writer writer(path, {});
    const SchemaId schema = writer.schema({"aten::op", "", {}, {}});
    EventBuffer buffer;
    for (int64_t id = 1; id <= kOps; ++id) {
      addSimpleOp(buffer, id, schema, std::max<int64_t>(1, id - 3),
                  static_cast<int32_t>(id / 5000));
      if (id % 777 == 0) writer.submit(buffer);
    }
    writer.submit(buffer);
    writer.finish();
  }
  const Reader reader(path);
  const OpTable table = reader.readAll();
  ASSERT_EQ(table.ops.size(), static_cast<size_t>(kOps));
  for (int64_t id = kOps; id >= 1; id -= 7) {  // backwards: chunks of fingerprints come and go
    const Op& op = table.ops[static_cast<size_t>(id - 1)];
    ASSERT_EQ(op.id, OpId{id});
    const Operand& output = table.of(op)[1];
    ASSERT_EQ(reader.fingerprint(output.fingerprint).statistics.sum, static_cast<double>(id));
    ASSERT_EQ(reader.digest(output.fingerprint), testing::numberedFingerprint(id).digest);
  }
  OpTable page;
  reader.readOps({4990}, 20, page);
  reader.readOps({19995}, 100, page);
  ASSERT_EQ(page.ops.size(), 26u);
  EXPECT_EQ(page.ops[0].id, OpId{4990});
  EXPECT_EQ(page.ops[19].id, OpId{5009});
  EXPECT_EQ(page.ops[20].id, OpId{19995});
  EXPECT_EQ(page.ops[25].id, OpId{20000});
  for (const Op& op : page.ops) {
    ASSERT_EQ(page.of(op).size(), 2u);
    EXPECT_EQ(page.of(op)[1].storage, StorageId{op.id.value});
  }
  EXPECT_EQ(reader.readStep(2).ops.size(), 5000u);
  EXPECT_EQ(reader.steps(), (std::vector<int32_t>{0, 1, 2, 3, 4}));
}

TEST(RoundTrip, OpsThatEndLateAreFoundInTheirPlace) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  {
    Writer writer(path, {});
    const SchemaId schema = writer.schema({"op", "", {}, {}});
    EventBuffer buffer;
    for (int64_t id = 2; id <= 6000; ++id) {
      if (id % 1000 == 0) continue;  // encloses those that follow: ends last
      addSimpleOp(buffer, id, schema, 1);
      if (id % 500 == 0) {
        writer.submit(buffer);
        writer.flush();
      }
    }
    for (int64_t id = 6000; id >= 1000; id -= 1000) addSimpleOp(buffer, id, schema, 1);
    addSimpleOp(buffer, 1, schema, 1);
    writer.submit(buffer);
    writer.finish();
  }
  const Reader reader(path);
  const OpTable all = reader.readAll();
  ASSERT_EQ(all.ops.size(), 6000u);
  for (size_t i = 0; i < all.ops.size(); ++i) {
    ASSERT_EQ(all.ops[i].id.value, static_cast<int64_t>(i + 1));
    ASSERT_EQ(all.of(all.ops[i])[1].storage.value, static_cast<int64_t>(i + 1));
  }
  for (int64_t first : {1, 2, 995, 1000, 1001, 2999, 5999, 6000}) {
    OpTable page;
    reader.readOps({first}, 10, page);
    ASSERT_EQ(page.ops.size(), static_cast<size_t>(std::min<int64_t>(10, 6001 - first)));
    for (size_t i = 0; i < page.ops.size(); ++i) {
      ASSERT_EQ(page.ops[i].id.value, first + static_cast<int64_t>(i));
      ASSERT_EQ(page.of(page.ops[i])[1].storage.value, page.ops[i].id.value);
    }
  }
}

TEST(RoundTrip, Coverage) {
  TempFolder folder;
  for (const bool whole : {true, false}) {
    const std::string path = folder.file(whole ? "a.ulps" : "b.ulps");
    {
      TraceBuilder t(path);
      auto x = t.random({4});
      auto y = t.random({4});
      t.op("aten::relu", {x}, {y});  // source
      t.op({.name = "k", .inputs = {y}, .outputs = {t.random({2})}, .kind = OpKind::kernel});
      t.op(
          {.name = "c", .inputs = {y, t.skipped({2}, SkipReason::fake)}, .kind = OpKind::compiled});
      t.op({.name = "add_", .mutated = {{y, {1, 2, 3, 4}}}});  // matched
      t.op("aten::neg", {t.view(y, {2, 2}, {2, 1}, {1, 2, 3, 4})},
           {t.skipped({2}, SkipReason::layout)});
      if (whole) {
        t.finish();
      } else {
        t.cutShort();
      }
    }
    const Reader reader(path);
    EXPECT_EQ(reader.complete(), whole);
    const Coverage coverage = reader.coverage();
    EXPECT_EQ(coverage.ops, 3u);
    EXPECT_EQ(coverage.kernels, 1u);
    EXPECT_EQ(coverage.tensors, 10u);
    EXPECT_EQ(coverage.hashed, 8u);
    EXPECT_EQ(coverage.skipped,
              (std::vector<std::pair<std::string, uint64_t>>{{"fake", 1}, {"layout", 1}}));
    EXPECT_EQ(coverage.closureSource, 2u);
    EXPECT_EQ(coverage.closureMatched, 3u);
    EXPECT_EQ(coverage.closureBroken, 0u);
    EXPECT_EQ(coverage.closureUnchecked, 1u);
    EXPECT_EQ(coverage.closure(), 1.0);
  }
  Coverage coverage;
  coverage.closureMatched = 3;
  coverage.closureBroken = 1;
  EXPECT_EQ(coverage.closure(), 0.75);
}

#ifdef __SSE__
TEST(RoundTrip, TheProgramsFloatModesDoNotReachTheFile) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  Fingerprint fingerprint = testing::numberedFingerprint(1);
  fingerprint.statistics.min = -5e-324;
  fingerprint.statistics.l1 = 1e-160;
  fingerprint.statistics.sumSquares = 0;  // l1 squared where subnormals are flushed
  fingerprint.sketch = {-5e-324, 3e-310};
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  {
    Writer writer(path, {});
    EventBuffer buffer;
    RawOp op;
    op.id = {1};
    op.operandCount = 1;
    buffer.addOp(op, {});
    RawOperand operand;
    operand.hasFingerprint = true;
    buffer.addOperand(operand, nullptr, nullptr, &fingerprint);
    writer.submit(buffer);
    writer.finish();
  }
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u);
  _mm_setcsr(before);
  const Reader reader(path);
  const Fingerprint found = reader.fingerprint({1});
  EXPECT_EQ(found.statistics.min, -5e-324);
  EXPECT_EQ(found.statistics.sumSquares, 0);
  EXPECT_EQ(found.sketch, fingerprint.sketch);
}
#endif

}  // namespace
}  // namespace ulpscope
