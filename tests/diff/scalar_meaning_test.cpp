#include "diff/scalar_meaning.h"

#include <gtest/gtest.h>

namespace ulpscope {
namespace {

struct Case {
  const char* argument;
  const char* a;
  const char* b;
  bool same;

  friend void PrintTo(const Case& c, std::ostream* out) {
    *out << c.argument << " " << c.a << (c.same ? " is " : " is not ") << c.b;
  }
};

class ScalarMeaning : public ::testing::TestWithParam<Case> {};

TEST_P(ScalarMeaning, OfTwoSpellings) {
  const Case& c = GetParam();
  EXPECT_EQ(meanTheSame(c.argument, c.a, c.b), c.same);
  EXPECT_EQ(meanTheSame(c.argument, c.b, c.a), c.same);
  // A hash of the coarsest reading never tells apart what means the same.
  if (c.same && std::string_view(c.argument) != "dtype") {
    EXPECT_EQ(meaningOf("", c.a), meaningOf("", c.b));
  }
}

INSTANTIATE_TEST_SUITE_P(Spellings, ScalarMeaning, ::testing::Values(
    Case{"device", "None", "cpu", true},
    Case{"device", "None", "cuda:0", false},
    Case{"pin_memory", "None", "False", true},
    Case{"pin_memory", "None", "True", false},
    Case{"weight", "", "None", true},
    Case{"alpha", "1", "1.0", true},
    Case{"alpha", "1", "1.0000001", false},
    Case{"eps", "1e-05", "0.00001", true},
    Case{"eps", "1e-05", "1e-06", false},
    Case{"value", "nan", "nan", true},
    Case{"value", "inf", "-inf", false},
    Case{"index", "9007199254740993", "9007199254740992", false},
    Case{"kernel_size", "[2]", "[2, 2]", true},
    Case{"kernel_size", "[2]", "[2, 3]", false},
    Case{"kernel_size", "[2, 2]", "[3, 3]", false},
    Case{"dim", "[0]", "[0, 0]", false},
    Case{"dim", "[0]", "[1]", false},
    Case{"dtype", "None", "float32", true},
    Case{"dtype", "bfloat16", "float32", false},
    Case{"memory_format", "Contiguous", "Preserve", true},
    Case{"approximate", "none", "tanh", false},
    Case{"keepdim", "True", "False", false}));

}  // namespace
}  // namespace ulpscope
