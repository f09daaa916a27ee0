#include <ATen/ATen.h>

#include <cstdio>
#include <fstream>
#include <ulpscope/recorder.h>

int main(int, char** argv) {
  {
    ulpscope::Recorder recorder(argv[1]);
    const ulpscope::Scope scope("warm-up");
    at::ones({2, 2}).exp();
    recorder.step();
  }
  std::ifstream trace(argv[1], std::ios::binary);
  char head[7] = {};
  trace.read(head, 6);
  std::printf("%s\n", head);  // SQLite
  return std::string(head) == "SQLite" ? 0 : 1;
}
