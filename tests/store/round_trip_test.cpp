#include <gtest/gtest.h>

#include "store/reader.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_builder.h"

namespace ulpscope {
namespace {

using testing::TempFolder;
using testing::TraceBuilder;

TEST(RoundTrip, SmallTrace) {
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
  }
  const Reader reader(path);
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.formatVersion(), 1);
  EXPECT_EQ(reader.meta("command"), "python train.py");
  ASSERT_EQ(reader.environment().size(), 1u);
  EXPECT_EQ(reader.opCount(), 3);
  const OpTable table = reader.readAll();
  ASSERT_EQ(table.ops.size(), 3u);
  EXPECT_EQ(reader.schema(table.ops[1].schema).qualified(), "aten::add_.Tensor");
  EXPECT_EQ(reader.scalars(table.ops[1].scalars), (std::vector<Scalar>{{2, "0.5"}}));
  const auto operands = table.of(table.ops[1]);
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(operands[0].role, Role::before);
  EXPECT_EQ(operands[0].writer, OpId{1});
  EXPECT_EQ(operands[0].closure, Closure::matched);
  EXPECT_EQ(operands[0].fingerprint, table.of(table.ops[0])[2].fingerprint);
  EXPECT_EQ(reader.type(operands[0].type).sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(reader.fingerprint(operands[1].fingerprint).statistics.sum, 6.0);
  EXPECT_EQ(reader.module(table.ops[0]), (std::pair<std::string, std::string>("encoder.0", "Linear")));
  EXPECT_EQ(reader.module(table.ops[2]).first, "");
  EXPECT_EQ(reader.steps(), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(reader.coverage().tensors, 7u);
  EXPECT_EQ(reader.coverage().closure(), 1.0);
}

}  // namespace
}  // namespace ulpscope
