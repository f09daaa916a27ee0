#pragma once

#include <atomic>

#include "dispatch_hook/instrument.h"
#include "dispatch_hook/op_frame.h"
#include "dispatch_hook/session.h"

namespace ulpscope {

extern std::atomic<instrument::StackProvider> stackProvider;
extern std::atomic<instrument::ProvenanceProvider> provenanceProvider;
extern std::atomic<instrument::AfterOp> afterOp;

/// Frames for calls that instrumentation reports. A frame is open from openFrame to closeFrame.
OpFrame& openFrame(ThreadState& thread, const void* key);
void appendFrame(Session& session, ThreadState& thread, OpFrame& frame) noexcept;
void closeFrame(ThreadState& thread, OpFrame& frame);

/// Fills in id, thread, phase, step, region, sequence and stack of an op that starts now.
/// An op that makes no tensors (loss.item() after the optimizer) begins no step. `sequence` is the autograd sequence number outside backward, -1 where there is none.
void placeOp(Session& session, ThreadState& thread, RawOp& op, bool requiresGrad,
             bool updatesParameter, bool makesTensors, int64_t sequence);

}  // namespace ulpscope
