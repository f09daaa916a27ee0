#pragma once

#include "gate/baseline.h"
#include "store/reader.h"

namespace ulpscope::gate {

/// What a gate keeps of a trace. `ops`: all of the trace's, as Reader::readAll gives them. Throws
/// TraceError for a damaged trace.
Baseline encode(const Reader& trace, const OpTable& ops);

}  // namespace ulpscope::gate
