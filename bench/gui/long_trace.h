#pragma once

#include <cstdint>
#include <string>

namespace ulpscope::bench {

/// Writes a trace of a transformer's training with about `ops` ops: 12 blocks, modules, forward,
/// backward and optimizer. Fingerprints are made up from the position, so that writing is quick. With
/// `differs`, the gelu of block 6 in the step at nine tenths of the run, and all that follows, has
/// other values.
void writeLongTrace(const std::string& path, int64_t ops, bool differs);

}  // namespace ulpscope::bench
