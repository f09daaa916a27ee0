#pragma once

#include <memory>
#include <string_view>

#include "dispatch_hook/instrument.h"
#include "dispatch_hook/op_frame.h"
#include "dispatch_hook/session.h"

/// What is done with the values of an op, and with its outcome where a reference is followed. A frame
/// that collects values (OpFrame::keepsValues) goes through holdInputs when the op starts,
/// keepResults when it ends, and letInputsGo in any case.
namespace ulpscope {

/// Captures what the op is about to read, or holds on to it: read-only tensors weakly, those that the
/// op writes as copies, as far as the limit of captured bytes would let them into the trace.
/// `later`: bytes of the results, where known.
void holdInputs(Session& session, OpFrame& frame, int64_t later);

/// Captures the results of an op that is captured. Where a reference is followed, judges the op, and
/// where it parts from the reference captures both what it read and its results. `name`: the op's,
/// empty for kernels. Not null where the program is to be stopped or debugged here: give it to actOn
/// once the op is in the trace.
std::unique_ptr<instrument::Divergence> keepResults(Session& session, ThreadState& thread,
                                                    OpFrame& frame, std::string_view name);

/// Does not come back where the program is to stop.
void actOn(Session& session, const instrument::Divergence& divergence) noexcept;

void letInputsGo(OpFrame& frame) noexcept;

}  // namespace ulpscope
