#include "diff/render/escape.h"

#include <gtest/gtest.h>

namespace ulpscope {
namespace {

TEST(Escape, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(validUtf8("abc \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"), "abc \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(validUtf8("\xff"), bad);
  EXPECT_EQ(validUtf8("\xC0\xAF"), bad + bad);          // overlong
  EXPECT_EQ(validUtf8("\xED\xA0\x80"), bad + bad + bad);  // a surrogate
  EXPECT_EQ(validUtf8("\xE2\x82"), bad + bad);          // cut short
  EXPECT_EQ(validUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);
}

TEST(Escape, XmlKeepsOnlyWhatXmlAllows) {
  EXPECT_EQ(xmlEscaped("a<b>&\"'\n\t"), "a&lt;b&gt;&amp;&quot;&#39;\n\t");
  EXPECT_EQ(xmlEscaped(std::string_view("\0\x1b", 2)), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Escape, MarkdownCodeHoldsBackticksAndPipes) {
  EXPECT_EQ(markdownCode("aten::mm"), "`aten::mm`");
  EXPECT_EQ(markdownCode("a`b"), "``a`b``");
  EXPECT_EQ(markdownCode("`"), "`` ` ``");
  EXPECT_EQ(markdownCode("a|b\nc"), "`a\\|b c`");
  EXPECT_EQ(markdownCode(""), "");
}

TEST(Escape, MarkdownTextHasNoMarkup) {
  EXPECT_EQ(markdownEscaped("*a* _b_ <c> [d] @e #1 ~f~ |"),
            "\\*a\\* \\_b\\_ &lt;c\\> \\[d\\] &#64;e \\#1 \\~f\\~ \\|");
}

TEST(Escape, WorkflowCommandsStayOnALine) {
  EXPECT_EQ(workflowMessage("100%\r\na:b,c"), "100%25%0D%0Aa:b,c");
  EXPECT_EQ(workflowProperty("a:b,c%"), "a%3Ab%2Cc%25");
}

}  // namespace
}  // namespace ulpscope
