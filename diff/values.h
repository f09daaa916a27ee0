#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "diff/diff.h"
#include "diff/side_index.h"

namespace ulpscope {

/// How two operands compare: their values by fingerprint, their form by type.
struct Compared {
  enum class Values : uint8_t { unknown, identical, differ };
  Values values = Values::unknown;
  bool dtype = false;   ///< dtypes differ
  bool shape = false;   ///< sizes differ
  bool stride = false;  ///< only strides differ
  bool nonFinite = false;  ///< NaN or infinities on one side that the other lacks
  /// Known where the values differ and both sides have statistics and a sketch, else NaN.
  float relative = std::numeric_limits<float>::quiet_NaN();
  float rms = std::numeric_limits<float>::quiet_NaN();   ///< root-mean-square difference
  float ulp = std::numeric_limits<float>::quiet_NaN();   ///< the same in units in the last place
  bool differs() const { return values == Values::differ; }
};

/// Compares operands of two traces. Keeps the last comparisons, because one op's output is the next
/// op's input.
class ValueComparer {
 public:
  ValueComparer(const SideIndex& a, const SideIndex& b) : a_(a), b_(b) {}

  /// `sameForm`: false where only the elements in their order matter (a kernel's flat buffer against
  /// the tensor whose value it holds).
  Compared compare(const Operand& a, const Operand& b, bool sameForm = true);
  bool equalDigest(const Operand& a, const Operand& b) const;

 private:
  struct Remembered {
    FingerprintId a, b;
    TypeId typeA, typeB;
    Compared compared;
  };
  const SideIndex& a_;
  const SideIndex& b_;
  std::array<Remembered, 4096> recent_{};
};

/// Inside what the user allows?
bool isWithin(const Compared& compared, const Tolerance& tolerance);

/// What kind of difference these values show, for an op that sums over about `terms` products.
Difference kindOf(const Compared& compared, double terms);

/// About how many terms an element of the op's output sums, from the sizes of its operands; 1 for an
/// op that does not sum.
double termsSummed(const SideIndex& side, const Op& op);

int64_t elementCount(const TensorType& type);

}  // namespace ulpscope
