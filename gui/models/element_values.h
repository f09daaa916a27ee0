#pragma once

#include <QString>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gui/models/operand_match.h"

namespace ulpscope::gui {

/// Numbers from the bytes of a tensor's elements: one a real element, two a complex one. Empty for a
/// dtype without numbers (bits, packed 4-bit) and where the bytes are no whole elements.
std::vector<double> decodeElements(DType dtype, std::span<const std::byte> bytes);

/// An operand whose values are in at least one of the traces; what loadElements needs, with no pointer
/// into a document, so that a worker can have it.
struct ElementRequest {
  QString title;  ///< "native_layer_norm: out 0  f32[2, 64, 128]"
  std::string pathA, pathB;
  FingerprintId a, b;  ///< none: not captured on that side
  TensorType type;
};

/// The operands of a pair with captured values: those of both sides first, then as matched. A pair
/// whose two sides have other shapes or dtypes gives one request for each.
std::vector<ElementRequest> capturedOperands(const Document& document, uint32_t pair);

/// One column of the histogram: components with a distance of at most `upper` and more than the column
/// before, in ulps or, for integers, in their own unit; infinite: not finite on one side.
struct ElementBin {
  double upper = 0;
  int64_t count = 0;
};

/// Two tensors element by element, or one alone. Counts and distances are those of `ulpscope values`
/// (fingerprint/elementwise.h).
struct ElementPicture {
  bool both = false;
  TensorType type;
  int64_t rows = 0;     ///< of the picture: all sizes but the last that is not 1
  int64_t columns = 0;
  int components = 1;   ///< 2: complex
  std::vector<double> a, b;   ///< components; empty where not captured
  std::vector<float> shown;   ///< by element: |b - a| (infinite where one is NaN or infinite alone),
                              ///< or the one side's value
  int64_t differing = 0;      ///< components
  int64_t worst = -1;         ///< element of the largest difference; of the largest value alone
  double largest = 0;         ///< difference, or magnitude of the value
  double largestUlps = 0;     ///< as in the histogram
  bool inUlps = false;        ///< unit of the histogram
  std::vector<ElementBin> histogram;  ///< the first holds the equal ones; empty for one side alone

  int64_t elements() const { return int64_t(shown.size()); }
  /// "[0, 12, 5]"
  QString indexText(int64_t element) const;
  /// "a 1.25, b 1.5, difference 0.25 (2 ulp)"
  QString elementText(int64_t element) const;
  QString summary() const;  ///< one line
};

/// Reads and compares; on a worker. Throws TraceError. An operand that can't be decoded gives one
/// without elements.
ElementPicture loadElements(const ElementRequest& request);

}  // namespace ulpscope::gui
