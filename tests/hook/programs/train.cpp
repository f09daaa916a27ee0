// A LibTorch training program that knows nothing of ulpscope: an MLP with AdamW, then a convolutional
// net with SGD. Prints a checksum of the final parameters, bit for bit.
//   train [threads] [steps]

#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct MlpImpl : torch::nn::Module {
  MlpImpl()
      : first(register_module("first", torch::nn::Linear(64, 128))),
        norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({128})))),
        second(register_module("second", torch::nn::Linear(128, 10))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return second(torch::gelu(norm(first(x))));
  }
  torch::nn::Linear first;
  torch::nn::LayerNorm norm;
  torch::nn::Linear second;
};
TORCH_MODULE(Mlp);

struct NetImpl : torch::nn::Module {
  NetImpl()
      : conv(register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3)))),
        norm(register_module("norm", torch::nn::BatchNorm2d(8))),
        head(register_module("head", torch::nn::Linear(8 * 7 * 7, 10))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(norm(conv(x)));
    x = torch::max_pool2d(x, 2);
    return head(x.flatten(1));
  }
  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
  torch::nn::Linear head;
};
TORCH_MODULE(Net);

uint64_t checksum(const std::vector<torch::Tensor>& parameters) {
  uint64_t sum = 1469598103934665603u;
  for (const torch::Tensor& parameter : parameters) {
    const torch::Tensor flat = parameter.detach().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(flat.data_ptr());
    for (int64_t i = 0; i < flat.numel() * flat.element_size(); ++i) {
      sum = (sum ^ bytes[i]) * 1099511628211u;
    }
  }
  return sum;
}

template <class Model, class Optimizer>
uint64_t train(Model& model, Optimizer& optimizer, const std::vector<int64_t>& shape, int steps) {
  for (int step = 0; step < steps; ++step) {
    const torch::Tensor data = torch::randn(shape);
    const torch::Tensor target = torch::randint(10, {shape[0]}, torch::kLong);
    optimizer.zero_grad();
    const torch::Tensor loss = torch::nn::functional::cross_entropy(model(data), target);
    loss.backward();
    optimizer.step();
  }
  return checksum(model->parameters());
}

}  // namespace

int main(int argc, char** argv) {
  torch::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const int steps = argc > 2 ? std::atoi(argv[2]) : 3;
  torch::manual_seed(7);
  Mlp mlp;
  torch::optim::AdamW adamw(mlp->parameters(), torch::optim::AdamWOptions(1e-3));
  std::printf("mlp %016llx\n",
              static_cast<unsigned long long>(train(mlp, adamw, {32, 64}, steps)));
  Net net;
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(1e-2).momentum(0.9));
  std::printf("net %016llx\n",
              static_cast<unsigned long long>(train(net, sgd, {8, 3, 16, 16}, steps)));
  return 0;
}
