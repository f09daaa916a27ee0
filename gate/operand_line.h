#pragma once

#include <string>
#include <string_view>

#include "store/records.h"

/// The words of one op's two lines, both ways. docs/gate.md describes them.
namespace ulpscope::gate {

/// "f32[24,32]", with strides where they are not row-major: "f32[32,96]/1,32", the device where it
/// is not the CPU "f32[2]%cuda:0", another layout "f32[2]~sparse".
std::string typeWord(const TensorType& type);
/// False where the text is none of these.
bool parseType(std::string_view text, TensorType& type);

/// Of a fingerprint: 48 bits of the digest, and what the level holds: the norm with five digits, two
/// signed sums in parts of the norm, and the counts of what is not finite. About 13 bytes compressed.
std::string valueWord(const Fingerprint& fingerprint);
/// The fingerprint that the word still tells, for comparing with another one told so. `components`:
/// of the tensor. False where the text is no such word.
bool parseValue(std::string_view text, uint64_t components, Fingerprint& fingerprint);

std::string_view layoutName(Layout layout);

}  // namespace ulpscope::gate
