#pragma once

#include "diff/result.h"

namespace ulpscope {

/// Fills what follows from the labels of all pairs and the frontier: counts, verdict and notes.
/// `cut`: a trace lacks its end, and with it ops that the other has. `hostDiffered`: a differing
/// value reached the host.
void conclude(DiffResult& result, bool cut, bool hostDiffered);

}  // namespace ulpscope
