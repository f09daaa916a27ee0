#pragma once

#include <chrono>
#include <string_view>

namespace ulpscope {

/// Colour only on a terminal; NO_COLOR (no-color.org) and TERM=dumb turn it off.
bool colourOn(int descriptor);

/// A bar on stderr for work that takes more than a second; silent where stderr is no terminal.
class Progress {
 public:
  explicit Progress(std::string_view title);
  ~Progress();  ///< takes the bar off the screen
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(double share);

 private:
  using Clock = std::chrono::steady_clock;
  const std::string_view title_;
  const bool terminal_;
  const Clock::time_point start_;
  Clock::time_point drawn_;
  bool visible_ = false;
};

}  // namespace ulpscope
