#pragma once

#include <string>

#include "diff/result.h"

namespace ulpscope {

/// Where the first or the dominant origin of a diff is a compiled kernel and the trace has what it
/// read, opens it (`python -m ulpscope.microscope`): the origin then names the op inside, `ops` stays
/// all ops of the kernel, and the frontier gets each op of it that adds to the difference. Compiles
/// pieces of the kernel, which takes seconds each.
///
/// Where that does not work the result stays as it is and gets a note that says why. Never throws.
void openKernels(DiffResult& result, bool showProgress);

}  // namespace ulpscope
