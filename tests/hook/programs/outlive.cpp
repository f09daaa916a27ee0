// Threads that run ops while the process ends:
//   outlive main     main ends while a detached thread still works
//   outlive thread   another thread than main ends the process
//   outlive _exit    no chance to finish anything
//   outlive exec     the process becomes another program

#include <ATen/ATen.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace {
std::atomic<int> rounds{0};
}

int main(int, char** argv) {
  const std::string how = argv[1];
  std::thread([] {
    at::Tensor x = at::zeros({8});
    for (;;) {
      x.add_(1);
      ++rounds;
    }
  }).detach();
  while (rounds < 2000) std::this_thread::yield();
  if (how == "thread") {
    std::thread([] { std::exit(5); }).detach();
    for (;;) pause();
  }
  if (how == "_exit") _exit(6);
  if (how == "exec") execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
  std::exit(4);
}
