// A LibTorch program that knows nothing of ulpscope and runs an AOTInductor package, without Python.
// Inputs are random numbers of seed 0. Prints a checksum of the results, bit for bit.
//   run_package PACKAGE RUNS SIZE...      one input of these sizes
//   run_package --threads N PACKAGE ...   all of it in N threads at once, each with the same input

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

uint64_t checksum(const std::vector<at::Tensor>& tensors) {
  uint64_t sum = 0;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor flat = tensor.contiguous();
    const auto* bytes = static_cast<const unsigned char*>(flat.data_ptr());
    for (size_t i = 0; i < flat.nbytes(); ++i) sum = sum * 1099511628211u + bytes[i];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  size_t threads = 1;
  if (argc > 2 && std::strcmp(argv[1], "--threads") == 0) {
    threads = size_t(std::atoi(argv[2]));
    argv += 2;
    argc -= 2;
  }
  if (argc < 4) return 2;
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  torch::manual_seed(0);
  std::vector<int64_t> sizes;
  for (int i = 3; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  const at::Tensor input = torch::randn(sizes);
  torch::inductor::AOTIModelPackageLoader model(argv[1], "model", false, threads);
  const int runs = std::atoi(argv[2]);
  std::vector<uint64_t> sums(threads);
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const c10::InferenceMode mode;
      for (int run = 0; run < runs; ++run) {
        sums[i] = sums[i] * 31 + checksum(model.run({input}));
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const uint64_t sum : sums) std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
