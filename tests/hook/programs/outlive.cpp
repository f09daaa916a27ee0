// Threads that are there when the process ends:
//   outlive main     main ends while a detached thread, which has run ops, is still alive
//   outlive thread   another thread than main ends the process
//   outlive _exit    ops are running, and there is no chance to finish anything
//   outlive exec     ops are running when the process becomes another program
// In the first two the thread has stopped running ops by then: LibTorch itself aborts when an op
// meets its dispatcher during static destruction.

#include <ATen/ATen.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace {
std::atomic<int> rounds{0};
std::atomic<bool> enough{false};
std::atomic<bool> idle{false};
}  // namespace

int main(int, char** argv) {
  const std::string how = argv[1];
  std::thread([] {
    {
      at::Tensor x = at::zeros({8});
      while (!enough) {
        x.add_(1);
        ++rounds;
      }
    }
    idle = true;
    for (;;) pause();
  }).detach();
  while (rounds < 2000) std::this_thread::yield();
  if (how == "_exit") _exit(6);
  if (how == "exec") execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
  enough = true;
  while (!idle) std::this_thread::yield();
  if (how == "thread") {
    std::thread([] { std::exit(5); }).detach();
    for (;;) pause();
  }
  return 4;
}
