// The sketch estimates distances with the error that the header states.

#include <cmath>
#include <functional>

#include "reference.h"

namespace ulpscope::test {
namespace {

struct Estimates {
  double mean = 0;       // of estimated over true squared distance; 1 where unbiased
  double deviation = 0;  // its standard deviation
  int trials = 0;
};

using Difference = std::function<double(size_t index, std::mt19937_64& random)>;

// Squared distances of random x and x + difference, over many trials.
Estimates estimate(size_t elements, int trials, const Difference& difference) {
  Estimates result;
  result.trials = trials;
  double sum = 0;
  double sumSquares = 0;
  std::mt19937_64 random(elements);
  std::normal_distribution<double> normal;
  std::vector<double> x(elements);
  std::vector<double> y(elements);
  for (int trial = 0; trial < trials; ++trial) {
    double exact = 0;
    for (size_t i = 0; i < elements; ++i) {
      x[i] = normal(random);
      y[i] = x[i] + difference(i, random);
      exact += (y[i] - x[i]) * (y[i] - x[i]);
    }
    const Comparison got = compare(fingerprintOf(x, DType::Float64), DType::Float64,
                                   fingerprintOf(y, DType::Float64), DType::Float64);
    const double ratio = got.distance * got.distance / exact;
    sum += ratio;
    sumSquares += ratio * ratio;
  }
  result.mean = sum / trials;
  result.deviation = std::sqrt(std::max(0.0, sumSquares / trials - result.mean * result.mean));
  return result;
}

double gaussian(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

// The statement: unbiased, and a relative standard error of at most sqrt(2/16) of the square. Five
// standard errors of what so many trials can show.
void expectStated(const Estimates& got) {
  const double stated = std::sqrt(2.0 / kSketchSize);
  EXPECT_NEAR(got.mean, 1, 5 * stated / std::sqrt(got.trials));
  EXPECT_LE(got.deviation, stated * (1 + 5 / std::sqrt(2.0 * got.trials)));
}

TEST(Sketch, OfDenseDifferences) {
  for (const size_t elements : {size_t{64}, size_t{1000}, size_t{20000}}) {
    SCOPED_TRACE(elements);
    expectStated(estimate(elements, 300, [](size_t, auto& random) { return gaussian(random); }));
  }
}

TEST(Sketch, OfSparseDifferences) {
  expectStated(estimate(5000, 300, [](size_t, auto& random) {
    return random() % 200 == 0 ? gaussian(random) : 0.0;
  }));
}

// One channel of so many, channels last: every channels-th component.
TEST(Sketch, OfOneChannel) {
  for (const size_t channels : {2, 3, 8, 15, 16, 17, 64, 256}) {
    SCOPED_TRACE(channels);
    expectStated(estimate(channels * 200, 300, [channels](size_t i, auto& random) {
      return i % channels == 1 ? gaussian(random) : 0.0;
    }));
  }
}

TEST(Sketch, OfOneRow) {
  expectStated(estimate(
      4096, 300, [](size_t i, auto& random) { return i / 64 == 20 ? gaussian(random) : 0.0; }));
}

// A difference of one sign, as that of a bias: nothing random in it but its place.
TEST(Sketch, OfConstantDifferences) {
  size_t elements = 900;
  double mean = 0;
  constexpr int kSizes = 200;
  for (int size = 0; size < kSizes; ++size, elements += 97) {
    const size_t first = elements / 3;
    const Estimates one =
        estimate(elements, 1, [first](size_t i, auto&) { return i < first ? 0.0 : 0.25; });
    mean += one.mean / kSizes;
    EXPECT_LT(one.mean, 1 + 6 * std::sqrt(2.0 / kSketchSize));
  }
  // Sizes share most of their components, so that this is a weak average.
  EXPECT_NEAR(mean, 1, 0.5);
}

// A product of a pattern over rows and one over columns: signs that repeat with rows would fail.
TEST(Sketch, OfRankOneDifferences) {
  std::vector<double> column(1024);
  std::vector<double> row(16);
  size_t drawn = ~size_t{0};
  expectStated(estimate(16384, 200, [&](size_t i, auto& random) {
    if (i == 0 && drawn != 0) {
      for (double& value : column) value = gaussian(random);
      for (double& value : row) value = gaussian(random);
    }
    drawn = i;
    return row[i / 1024] * column[i % 1024];
  }));
}

TEST(Sketch, IsExactForOneComponent) {
  std::mt19937_64 random(5);
  for (const size_t elements : {size_t{1}, size_t{100}, size_t{5000}, size_t{100000}}) {
    std::vector<float> x(elements);
    for (float& value : x) value = static_cast<float>(gaussian(random));
    std::vector<float> y = x;
    const size_t at = random() % elements;
    y[at] += 0.125F;
    const Comparison got = compare(fingerprintOf(x, DType::Float32), DType::Float32,
                                   fingerprintOf(y, DType::Float32), DType::Float32);
    const double exact = std::fabs(static_cast<double>(y[at]) - static_cast<double>(x[at]));
    EXPECT_NEAR(got.distance / exact, 1, 1e-10) << elements;
  }
}

// Indices, not bytes, choose buckets and signs.
TEST(Sketch, ComparesDTypes) {
  std::mt19937_64 random(5);
  std::vector<float> single(30000);
  std::vector<double> wide(single.size());
  for (size_t i = 0; i < single.size(); ++i) {
    single[i] = static_cast<float>(gaussian(random));
    wide[i] = single[i];
  }
  const Fingerprint x = fingerprintOf(single, DType::Float32);
  const Fingerprint same = fingerprintOf(wide, DType::Float64);
  const Comparison none = compare(x, DType::Float32, same, DType::Float64);
  EXPECT_LE(none.distance, none.standardError * 5);  // rounding of sums in another order
  EXPECT_LT(none.relative, 1e-14);
  double exact = 0;
  for (double& value : wide) {
    const double moved = 1e-3 * gaussian(random);
    value += moved;
    exact += moved * moved;
  }
  const Comparison got =
      compare(x, DType::Float32, fingerprintOf(wide, DType::Float64), DType::Float64);
  EXPECT_NEAR(got.distance, std::sqrt(exact), 5 * got.standardError);
}

TEST(Sketch, HasNoPartOfWhatIsNotFinite) {
  const std::vector<float> x{1, 2, NAN, 4};
  const std::vector<float> y{1, 2, 0, 4};
  EXPECT_TRUE(
      sameBits(fingerprintOf(x, DType::Float32).sketch, fingerprintOf(y, DType::Float32).sketch));
}

}  // namespace
}  // namespace ulpscope::test
