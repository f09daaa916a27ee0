#include <gtest/gtest.h>

#include "store/module_index.h"
#include "store/reader.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_builder.h"

namespace ulpscope {
namespace {

using testing::TempFolder;
using testing::TraceBuilder;
using Module = std::pair<std::string, std::string>;

TEST(ModuleOfAnOp, InnermostByRegionAndInBackwardByTheForwardOp) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  {
    TraceBuilder t(path);
    const auto x = [&] { return t.random({2}); };
    t.thread(1);
    {
      auto root = t.module("", "Model");
      auto block = t.module("h.0", "Block");
      {
        auto scope = t.region(RegionKind::scope, "user");
        t.op({.name = "1", .outputs = {x()}, .sequence = 5});  // a view: makes no node
        t.op({.name = "2", .outputs = {x()}, .sequence = 5});
      }
      auto mlp = t.module("h.0.mlp", "MLP");
      t.op({.name = "3", .outputs = {x()}, .sequence = 6});
    }
    t.op({.name = "4", .outputs = {x()}, .sequence = 7});  // the loss: outside all modules
    t.phase(Phase::backward);
    t.thread(2);
    {
      auto node = t.region(RegionKind::autograd, "MulBackward0", "", 6);
      t.op({.name = "5", .outputs = {x()}, .sequence = 6, .forwardThread = 1});
    }
    t.op({.name = "6", .outputs = {x()}, .sequence = 5, .forwardThread = 1});
    t.op({.name = "7", .outputs = {x()}, .sequence = 5, .forwardThread = 9});  // no such thread
    t.op({.name = "8", .outputs = {x()}, .sequence = 7, .forwardThread = 1});
    t.op({.name = "9", .outputs = {x()}});
    {
      auto recomputed = t.module("h.1", "Block");  // checkpointing runs a module in backward
      t.op({.name = "10", .outputs = {x()}, .sequence = 6, .forwardThread = 1});
    }
  }
  const Reader reader(path);
  const OpTable table = reader.readAll();
  const Module expected[] = {{"h.0", "Block"},   {"h.0", "Block"}, {"h.0.mlp", "MLP"}, {"", ""},
                             {"h.0.mlp", "MLP"}, {"h.0", "Block"}, {"", ""},           {"", ""},
                             {"", ""},           {"h.1", "Block"}};
  ASSERT_EQ(table.ops.size(), std::size(expected));
  for (size_t i = 0; i < table.ops.size(); ++i) {
    EXPECT_EQ(reader.module(table.ops[i]), expected[i]) << "op " << i + 1;
  }
}

TEST(ModuleIndex, ParentsThatAreMissingYoungerOrCyclicEndTheChain) {
  const auto region = [](int64_t id, int64_t parent, RegionKind kind) {
    Region result;
    result.id = {id};
    result.parent = {parent};
    result.kind = kind;
    return result;
  };
  const std::vector<Region> regions{
      region(1, 3, RegionKind::scope),   // parent comes later
      region(2, 99, RegionKind::scope),  // missing
      region(3, 0, RegionKind::module),   region(4, 5, RegionKind::scope),
      region(5, 4, RegionKind::scope),  // a cycle
      region(6, 6, RegionKind::autograd), region(7, 4, RegionKind::scope)};
  const ModuleIndex index(regions);
  EXPECT_EQ(index.moduleOf({1}), RegionId{3});
  EXPECT_EQ(index.moduleOf({3}), RegionId{3});
  for (int64_t id : {0, 2, 4, 5, 6, 7, 50}) EXPECT_EQ(index.moduleOf({id}), RegionId{});
}

}  // namespace
}  // namespace ulpscope
