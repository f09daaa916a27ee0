#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "diff/render/render.h"
#include "tests/render/results.h"

namespace ulpscope {
namespace {

nlohmann::json json(const DiffResult& result) {
  std::ostringstream out;
  renderJson(result, out);
  return nlohmann::json::parse(out.str());
}

TEST(Json, FollowsTheContract) {
  const auto document = json(testing::numericResult());
  EXPECT_EQ(document["schema"], "ulpscope.diff/1");
  EXPECT_EQ(document["verdict"], "numeric");
  EXPECT_EQ(document["a"], nlohmann::json({{"path", "eager.ulps"}, {"ops", 2000}, {"kernels", 0}, {"complete", true}}));
  EXPECT_EQ(document["environment"], nlohmann::json::array({{{"key", "torch.compile"}, {"a", "off"}, {"b", "inductor"}}}));
  EXPECT_EQ(document["counts"], nlohmann::json({{"pairs", 2000}, {"identical", 1500}, {"within", 0},
                                                {"origin", 5}, {"propagated", 485}, {"healed", 10},
                                                {"structural", 0}, {"source", 0}, {"opaque", 0}}));
  EXPECT_EQ(document["coverage"]["b"], nlohmann::json({{"tensors", 6000}, {"hashed", 5995},
                                                       {"skipped", {{"uninitialised", 5}}}, {"closure", 1.0}}));
  const auto& first = document["first"];
  EXPECT_EQ(first["label"], "origin");
  EXPECT_EQ(first["op"], "aten::native_layer_norm");
  EXPECT_EQ(first["ops"].size(), 3u);
  EXPECT_EQ(first["phase"], "forward");
  EXPECT_EQ(first["difference"], "rounding");
  EXPECT_EQ(first["alignment"], "provenance");
  EXPECT_EQ(first["operand"], nlohmann::json({{"role", "output"}, {"index", 0}, {"dtype", "float32"}, {"shape", {2, 64, 128}}}));
  EXPECT_EQ(first["a"]["kernel"], nullptr);
  EXPECT_EQ(first["b"]["kernel"], "cpp_fused_0");
  EXPECT_EQ(first["a"]["stack"][1], nlohmann::json({{"file", "/venv/lib/python3.11/site-packages/transformers/modeling_gpt2.py"}, {"line", 412}, {"function", "forward"}}));
  EXPECT_EQ(document["frontier"].size(), 2u);
  EXPECT_EQ(document["dominant"]["op"], "aten::mm");
}

TEST(Json, HasNullForWhatIsNotThere) {
  const auto document = json(testing::structuralResult());
  EXPECT_EQ(document["first"]["b"], nullptr);
  EXPECT_EQ(document["first"]["relative_error"], nullptr);
  EXPECT_EQ(document["dominant"], nullptr);
  EXPECT_EQ(json(testing::identicalResult())["first"], nullptr);
}

TEST(Json, StaysValidWithInfinityAndBrokenText) {
  DiffResult result = testing::numericResult();
  result.first->relativeError = std::numeric_limits<double>::infinity();
  result.first->module = "broken \xff text";
  const auto document = json(result);
  EXPECT_EQ(document["first"]["relative_error"], nullptr);
  EXPECT_EQ(document["first"]["module"], "broken \xef\xbf\xbd text");
}

}  // namespace
}  // namespace ulpscope
