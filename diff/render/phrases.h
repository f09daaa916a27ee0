#pragma once

#include <string>
#include <string_view>

#include "diff/result.h"

/// The sentences of an answer without colour or layout, the same in every renderer.
namespace ulpscope {

/// title + lead + op + rest is one sentence: "First divergent op:" " " "aten::mm" ", output 0 (rounding)".
struct Headline {
  std::string title;
  std::string lead;
  std::string op;
  std::string rest;
  std::string whole() const { return title + lead + op + rest; }
};
/// "First ..." of result.first, without that word for any other origin.
Headline headline(const DiffResult& result, const Origin& origin);
/// The one sentence that says how the diff came out, whatever its verdict; no full stop.
std::string verdictText(const DiffResult& result);

std::string_view phrase(Difference difference);  ///< "bits differ", "another shape", ...
std::string_view phrase(Method method);          ///< "paired by what is unique about it", ...
std::string_view phrase(Label label);            ///< "starts here", "carries a difference on", ...

/// "step 0, backward, encoder.0 (Linear), train.py:11 in forward"
std::string whereText(const Origin& origin);
/// "f32[2, 64], 2.1e-07 relative, about 1.1 ulp"
std::string sizeText(const Origin& origin);
/// "input 1", "output 0"
std::string operandText(const Origin& origin);
/// "#29 of A, #31 of B"
std::string idsText(const Origin& origin);
/// What stands for the origin's op on one side where that is not the op itself, else "".
std::string sideText(const DiffResult& result, const Origin& origin,
                     const std::optional<OriginSide>& side);
/// "3 ops after them start to differ on their own; 485 carry the difference on"; "" for none.
std::string countsText(const DiffResult& result);
/// "all 45 ops", "2,911 of 2,914 ops of A, ..."
std::string alignedText(const DiffResult& result);
/// "88 of 100 tensors hashed (skipped: uninitialised 12), closure 100%"
std::string coverageText(const Side& side);

/// The frame that an origin is known by, or null.
const Frame* originFrame(const Origin& origin);

}  // namespace ulpscope
