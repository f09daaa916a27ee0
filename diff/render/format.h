#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store/records.h"

/// How numbers, tensors and places are written for people, the same in every command.
namespace ulpscope {

std::string grouped(int64_t n);  ///< 1234567 -> "1,234,567"
/// "1 op", "2 ops", "1,200 ops"
std::string counted(int64_t n, std::string_view one, std::string_view many = {});
/// 1 -> "100%"; never "100%" for less than 1 nor "0%" for more than 0.
std::string percent(double share);
/// Two significant digits: "2.1e-07", "0.057", "74".
std::string magnitude(double value);
/// "f32[2, 64, 128]"
std::string tensorText(DType dtype, std::span<const int64_t> sizes);
/// "modeling_gpt2.py:412 in forward" of a frame; the folder is left out.
std::string frameText(const Frame& frame);
/// The innermost frame outside torch, whose own frames say little about the program; the innermost
/// where all are torch's, null where there is none.
const Frame* programFrame(const Stack& stack);
/// Puts a plain word around a shell argument where it needs quoting.
std::string shellQuoted(std::string_view argument);

/// ANSI sequences, or nothing where colour is off.
struct Paint {
  bool on = false;
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string good(std::string_view text) const { return wrap("32", text); }
  std::string bad(std::string_view text) const { return wrap("1;31", text); }
  std::string warning(std::string_view text) const { return wrap("33", text); }
  std::string name(std::string_view text) const { return wrap("1;36", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const;
};

}  // namespace ulpscope
