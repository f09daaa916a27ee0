#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "diff/render/annotations.h"
#include "diff/render/render.h"
#include "tests/render/results.h"

namespace ulpscope {
namespace {

template <class Renderer, class... More>
std::string rendered(Renderer&& render, const DiffResult& result, More&&... more) {
  std::ostringstream out;
  render(result, out, more...);
  return out.str();
}

/// The numeric result with text everywhere that each language would take for its own.
DiffResult hostileResult() {
  DiffResult result = testing::numericResult();
  const std::string hostile = "</script><img src=x onerror=alert(1)> & \"'`|%\n@all \x01\xff";
  result.a.path = result.b.path = hostile;
  result.notes = {hostile};
  result.environment = {{hostile, hostile, hostile}};
  for (Origin* origin : {&*result.first, &*result.dominant, &result.frontier[0], &result.frontier[1]}) {
    origin->op = origin->module = origin->moduleClass = origin->explanation = hostile;
    origin->ops = {hostile};
    if (origin->a) origin->a->stack = {{hostile, 1, hostile}};
  }
  return result;
}

TEST(Markdown, IsAHeadingATableAndFoldedDetails) {
  EXPECT_EQ(
      rendered(renderMarkdown, testing::numericResult()),
      "### First divergent op: `aten::native_layer_norm`, output 0 (rounding)\n"
      "\n"
      "| | |\n"
      "|---|---|\n"
      "| where | step 0, forward, transformer.h.0.ln\\_1 (LayerNorm), modeling\\_gpt2.py:412 in forward |\n"
      "| in B | kernel cpp\\_fused\\_0, which also holds aten::embedding, aten::add (\\#5) |\n"
      "| inputs | 3 of 3 identical |\n"
      "| output | f32\\[2, 64, 128\\], 2.1e-07 relative, about 1.1 ulp |\n"
      "| why | All inputs agree, the output does not. |\n"
      "| sure | 0.98: paired by the source ops of the kernel |\n"
      "| ops | \\#8 of A, \\#5 of B |\n"
      "\n"
      "**Dominant:** `aten::mm` in step 1, backward, lm\\_head (Linear): adds 61% of the final error.\n"
      "\n"
      "<details><summary>One more starts on its own</summary>\n"
      "\n"
      "| op | where | difference | size |\n"
      "|---|---|---|---|\n"
      "| `aten::mm` | step 1, backward, lm\\_head (Linear) | rounding | f32\\[2, 64, 128\\], 2.1e-07 "
      "relative, about 1.1 ulp |\n"
      "\n"
      "</details>\n"
      "\n"
      "<details><summary>1 difference in the environment</summary>\n"
      "\n"
      "| setting | A | B |\n"
      "|---|---|---|\n"
      "| `torch.compile` | `off` | `inductor` |\n"
      "\n"
      "</details>\n"
      "\n"
      "3 ops after them start to differ on their own; 485 carry the difference on; 10 heal it; aligned "
      "all 2,000 ops; 1 kernel of B stands for 1 op of A. Coverage of A: all 6,000 tensors hashed, "
      "closure 100%; of B: 5,995 of 6,000 tensors hashed (skipped: uninitialised 5), closure 100%.\n");
}

TEST(Markdown, SaysThatRunsAgree) {
  EXPECT_TRUE(rendered(renderMarkdown, testing::identicalResult())
                  .starts_with("### Identical: all 1,200 aligned ops agree bit for bit\n"));
}

TEST(Markdown, NothingFromATraceActs) {
  // Inside code spans, here fenced by two backticks, anything is a letter.
  const std::string page = std::regex_replace(rendered(renderMarkdown, hostileResult()),
                                              std::regex("``[^\n]*?``"), "CODE");
  EXPECT_NE(page.find("### First divergent op: CODE, output 0"), std::string::npos) << page;
  EXPECT_EQ(page.find("<img"), std::string::npos) << page;
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_EQ(page.find("@all"), std::string::npos);
}

TEST(JUnit, FailsOnceForEachStart) {
  const std::string xml = rendered(renderJUnit, testing::numericResult());
  EXPECT_NE(xml.find("<testsuites tests=\"2\" failures=\"2\" errors=\"0\">"), std::string::npos) << xml;
  EXPECT_NE(xml.find("<testcase classname=\"ulpscope.forward\" name=\"step 0, forward, transformer.h.0.ln_1 "
                     "(LayerNorm), modeling_gpt2.py:412 in forward: aten::native_layer_norm\">\n"
                     "      <failure type=\"rounding\" message=\"First divergent op: aten::native_layer_norm, "
                     "output 0 (rounding)\">"),
            std::string::npos) << xml;
  EXPECT_NE(xml.find("message=\"Divergent op: aten::mm, output 0 (rounding)\""), std::string::npos) << xml;
}

TEST(JUnit, OneCasePassesWhereAllAgreeAndIsAnErrorWhereNothingCompares) {
  const std::string good = rendered(renderJUnit, testing::identicalResult());
  EXPECT_NE(good.find("tests=\"1\" failures=\"0\" errors=\"0\""), std::string::npos);
  EXPECT_NE(good.find("name=\"a.ulps and b.ulps agree\"/>"), std::string::npos) << good;
  const std::string bad = rendered(renderJUnit, testing::notComparableResult());
  EXPECT_NE(bad.find("tests=\"1\" failures=\"0\" errors=\"1\""), std::string::npos);
  EXPECT_NE(bad.find("<error type=\"not_comparable\" message=\"Not comparable: the traces have no op in common\"/>"),
            std::string::npos) << bad;
}

TEST(Github, PointsAtTheLineBelowTheRoot) {
  DiffResult result = testing::numericResult();
  result.first->b.reset();
  result.first->a->stack = {{"/venv/lib/python3.11/site-packages/torch/nn/functional.py", 7, "f"},
                            {"/elsewhere/x.py", 3, "g"},
                            {"/repo/src/my,model.py", 12, "forward"}};
  result.frontier[0] = *result.first;
  EXPECT_EQ(rendered(renderGithub, result, "/repo"),
            "::error file=src/my%2Cmodel.py,line=12,title=ulpscope%3A aten%3A%3Anative_layer_norm::First "
            "divergent op: aten::native_layer_norm, output 0 (rounding)%0Astep 0, forward, "
            "transformer.h.0.ln_1 (LayerNorm), x.py:3 in g%0Af32[2, 64, 128], 2.1e-07 relative, about 1.1 "
            "ulp%0AAll inputs agree, the output does not.\n"
            "::error title=ulpscope%3A aten%3A%3Amm::Divergent op: aten::mm, output 0 (rounding)%0Astep 1, "
            "backward, lm_head (Linear)%0Af32[2, 64, 128], 2.1e-07 relative, about 1.1 ulp%0AAll inputs "
            "agree, the output does not.\n");
}

TEST(Github, OneLineAnAnnotation) {
  const std::string text = rendered(renderGithub, hostileResult(), "/repo");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(rendered(renderGithub, testing::identicalResult(), "/repo"),
            "::notice title=ulpscope::Identical: all 1,200 aligned ops agree bit for bit\n");
  EXPECT_TRUE(rendered(renderGithub, testing::notComparableResult(), "/repo").starts_with("::error "));
}

TEST(Github, AnExpectedDifferenceIsAWarning) {
  DiffResult result = testing::numericResult();
  result.first->expected = true;
  EXPECT_TRUE(rendered(renderGithub, result, "/repo").starts_with("::warning "));
}

TEST(Sarif, HasOneResultForEachStart) {
  DiffResult result = testing::numericResult();
  result.frontier[0].a->stack = {{"/repo/model.py", 12, "forward"}};
  const auto document = nlohmann::json::parse(rendered(renderSarif, result, "/repo"));
  EXPECT_EQ(document["version"], "2.1.0");
  const auto& run = document["runs"][0];
  ASSERT_EQ(run["results"].size(), 2u);
  const auto& location = run["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(location["artifactLocation"]["uri"], "model.py");
  EXPECT_EQ(location["region"]["startLine"], 12);
  EXPECT_EQ(run["results"][0]["ruleId"], "rounding");
  EXPECT_FALSE(run["results"][1]["locations"][0].contains("physicalLocation"));
  const auto failed = nlohmann::json::parse(rendered(renderSarif, testing::notComparableResult(), "/repo"));
  EXPECT_EQ(failed["runs"][0]["invocations"][0]["executionSuccessful"], false);
  EXPECT_NO_THROW(std::ignore = nlohmann::json::parse(rendered(renderSarif, hostileResult(), "/repo")));
}

TEST(Html, IsOnePageWithoutTheNetwork) {
  const std::string page = rendered(renderHtml, testing::numericResult());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("<h1>First divergent op: <span class=\"op\">aten::native_layer_norm</span>, output 0 "
                      "(rounding)</h1>"),
            std::string::npos);
}

TEST(Html, NothingFromATraceIsMarkup) {
  const std::string page = rendered(renderHtml, hostileResult());
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  const size_t json = page.find("id=\"pairs\">");
  const std::string data = page.substr(json + 11, page.find("</script>", json) - json - 11);
  const auto pairs = nlohmann::json::parse(data);
  EXPECT_EQ(pairs["count"], 2000);
}

TEST(Html, EveryVerdictGivesAPage) {
  for (const DiffResult& result : {testing::identicalResult(), testing::structuralResult(),
                                   testing::notComparableResult(), DiffResult{}}) {
    const std::string page = rendered(renderHtml, result);
    EXPECT_TRUE(page.ends_with("</html>\n"));
  }
}

TEST(SourceBelow, LeavesOutPackagesAndOtherFolders) {
  Origin origin;
  origin.b = OriginSide{OpId{1}, "aten::mm", "", {{"/repo/.venv/lib/python3.11/site-packages/x.py", 5, "f"},
                                                  {"/repository/y.py", 6, "g"}}};
  EXPECT_FALSE(sourceBelow(origin, "/repo"));
  origin.b->stack.push_back({"/repo/./a/../main.py", 7, "h"});
  ASSERT_TRUE(sourceBelow(origin, "/repo"));
  EXPECT_EQ(sourceBelow(origin, "/repo")->file, "main.py");
  origin.b->stack = {{"relative.py", 8, "h"}};
  EXPECT_EQ(sourceBelow(origin, "/repo")->file, "relative.py");
}

}  // namespace
}  // namespace ulpscope
