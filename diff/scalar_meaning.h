#pragma once

#include <string>
#include <string_view>

namespace ulpscope {

/// What a scalar argument means, as a text that is equal for arguments that ask for the same: C++
/// and Python spell one call differently. "" for what is not given, for a default, and for a memory
/// format, which the strides of the outputs tell.
///
/// A number is written as its shortest decimal (1 and 1.0 are one), the size list of a window with
/// equal entries as one entry ([2, 2] and [2]). Where `argument` is "", as in a hash of arguments
/// whose names are not at hand, whatever could be a default or a window is taken for one.
std::string meaningOf(std::string_view argument, std::string_view text);

/// Whether two texts of one argument ask for the same. A dtype that is not given equals one that
/// is: the dtype of the outputs is compared beside.
bool meanTheSame(std::string_view argument, std::string_view a, std::string_view b);

}  // namespace ulpscope
