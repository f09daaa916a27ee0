#include "diff/render/error_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "diff/render/escape.h"
#include "diff/render/phrases.h"

namespace ulpscope {
namespace {

constexpr double kWidth = 1000, kHeight = 230;
constexpr double kLeft = 52, kRight = 12, kTop = 18, kBottom = 26;
constexpr size_t kBars = 450;
constexpr size_t kMarks = 500;

/// Which label a bar of several pairs shows.
int rank(Label label) {
  switch (label) {
    case Label::origin: return 6;
    case Label::source: return 5;
    case Label::structural: return 4;
    case Label::propagated: return 3;
    case Label::within: return 2;
    case Label::healed: return 1;
    case Label::opaque:
    case Label::identical: return 0;
  }
  return 0;
}

struct Bar {
  double error = 0;
  Label label = Label::identical;
};

}  // namespace

std::string errorPlot(const DiffResult& result) {
  const size_t count = result.pairs.size();
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Pair& pair : result.pairs) {
    if (!std::isfinite(pair.error) || pair.error <= 0) continue;
    least = std::min(least, double(pair.error));
    most = std::max(most, double(pair.error));
  }
  if (most == 0) return {};
  // Whole decades, at most thirteen below the largest: what is smaller lies on the floor.
  const int top = int(std::ceil(std::log10(most) + 1e-9));
  const int floor = std::max(int(std::floor(std::log10(least) - 1e-9)), top - 13);

  const size_t bars = std::min(count, kBars);
  std::vector<Bar> heights(bars);
  for (size_t i = 0; i < count; ++i) {
    const Pair& pair = result.pairs[i];
    Bar& bar = heights[i * bars / count];
    // Infinite: NaN or infinity on one side. It reaches the top.
    const double error = std::isnan(pair.error) ? 0 : std::min(double(pair.error), std::pow(10, top));
    bar.error = std::max(bar.error, error);
    if (rank(pair.label) > rank(bar.label)) bar.label = pair.label;
  }

  const double plotWidth = kWidth - kLeft - kRight, plotHeight = kHeight - kTop - kBottom;
  const auto height = [&](double error) {
    const double share = (std::log10(error) - floor) / std::max(1, top - floor);
    return std::max(1.0, std::clamp(share, 0.0, 1.0) * plotHeight);
  };

  std::string svg = fmt::format(
      "<svg class=\"growth\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"relative error over the run\">\n",
      kWidth, kHeight);
  const int every = std::max(1, (top - floor + 4) / 5);
  for (int decade = floor; decade <= top; decade += every) {
    const double y = kTop + plotHeight * (1 - double(decade - floor) / std::max(1, top - floor));
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>"
                       "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">1e{}</text>\n",
                       kLeft, y, kWidth - kRight, y, kLeft - 6, y + 4, decade);
  }
  const double barWidth = plotWidth / double(bars);
  for (size_t i = 0; i < bars; ++i) {
    if (heights[i].error <= 0) continue;
    const double h = height(heights[i].error);
    svg += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>\n",
                       name(heights[i].label), kLeft + double(i) * barWidth, kTop + plotHeight - h,
                       std::max(0.6, barWidth * 0.9), h);
  }
  for (size_t i = 0; i < std::min(result.frontier.size(), kMarks); ++i) {
    const Origin& origin = result.frontier[i];
    if (origin.pair < 0 || size_t(origin.pair) >= count) continue;
    const double x = kLeft + plotWidth * (double(origin.pair) + 0.5) / double(count);
    svg += fmt::format(
        "<a href=\"#row={0}\"><path class=\"mark {1}\" d=\"M{2:.1f} {3:.1f} l5 -9 h-10 z\"><title>{4}: {5}"
        "</title></path></a>\n",
        origin.pair, name(origin.label), x, kTop, xmlEscaped(origin.op), xmlEscaped(whereText(origin)));
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\">first op</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">"
                     "last op</text>\n</svg>\n",
                     kLeft, kHeight - 8, kWidth - kRight, kHeight - 8);
  return svg;
}

}  // namespace ulpscope
