// A C++ project's test whose numbers are watched. The first time, and after a change that is wanted:
//
//   ULPSCOPE_UPDATE=1 ULPSCOPE_REASON='why' ./numbers_test

#include <torch/torch.h>
#include <ulpscope/gtest_gate.h>

#include <cstdlib>

namespace {

/// What the example's own test changes from outside; a real project changes its source.
double temperature() {
  const char* text = std::getenv("EXAMPLE_TEMPERATURE");
  return text != nullptr ? std::atof(text) : 0.5;
}

TEST(Numbers, OfOneTrainingStep) {
  torch::manual_seed(0);
  torch::nn::Linear first(8, 16), second(16, 4);
  const torch::Tensor input = torch::randn({32, 8});
  const torch::Tensor scale = torch::full({4}, 1.0) * torch::tensor(temperature());
  EXPECT_ULPSCOPE_GATE("ulpscope-gate/training-step", {
    torch::Tensor loss = (second(torch::tanh(first(input))) * scale).square().mean();
    loss.backward();
  });
}

}  // namespace
