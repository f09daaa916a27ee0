#pragma once

#include <span>
#include <string>

#include "gate/baseline.h"

namespace ulpscope::gate {

/// Writes a trace that holds what the baseline tells: the same ops, operands and values as far as
/// they were kept, so that the diff engine can compare two baselines. Replaces `path`. `ids`: the
/// ops' ids, ascending; empty: 1, 2, ... Throws TraceError for a line that is none of a baseline's
/// (naming `name`) or where the file can't be written.
void replay(const Baseline& baseline, const std::string& name, const std::string& path,
            std::span<const OpId> ids);

}  // namespace ulpscope::gate
