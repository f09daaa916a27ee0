#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ulpscope {
namespace {

constexpr auto kDelay = std::chrono::seconds(1);
constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr int kBarWidth = 30;

}  // namespace

bool colourOn(int descriptor) {
  const char* off = std::getenv("NO_COLOR");
  if (off != nullptr && *off != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return isatty(descriptor) != 0;
}

Progress::Progress(std::string_view title)
    : title_(title), terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), drawn_(start_) {}

Progress::~Progress() {
  if (visible_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(double share) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - start_ < kDelay || now - drawn_ < kBetweenDraws) return;
  drawn_ = now;
  visible_ = true;
  const double clamped = std::clamp(share, 0.0, 1.0);
  const int done = int(clamped * kBarWidth);
  const std::string line = fmt::format("\r{} [{}{}] {:3.0f}%\x1b[K", title_, std::string(size_t(done), '#'),
                                       std::string(size_t(kBarWidth - done), '.'), clamped * 100);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace ulpscope
