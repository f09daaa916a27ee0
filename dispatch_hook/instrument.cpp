#include "dispatch_hook/instrument.h"

#include <ATen/core/grad_mode.h>

#include <exception>

#include "dispatch_hook/follow.h"
#include "dispatch_hook/follower.h"
#include "dispatch_hook/observer.h"
#include "dispatch_hook/operands.h"
#include "dispatch_hook/scalars.h"
#include "dispatch_hook/value_capture.h"

namespace ulpscope::instrument {

namespace {

constexpr char kKey = 0;  // regions pushed from here are popped from here

/// The thread's state where it takes part in the recording, null otherwise.
ThreadState* active(Session*& session) noexcept {
  session = current();
  return session == nullptr ? nullptr : joinedThread(*session);
}

template <class Do>
void guarded(const char* where, Do&& what) noexcept {
  Session* session = current();
  if (session == nullptr) return;
  try {
    what(*session);
  } catch (const std::exception& error) {
    session->failed(where, error.what());
  } catch (...) {
    session->failed(where, "unknown failure");
  }
}

}  // namespace

void pushRegion(RegionKind kind, std::string_view name, std::string_view detail,
                int64_t sequence) noexcept {
  guarded("pushRegion", [&](Session& session) {
    if (ThreadState* thread = joinedThread(session)) {
      thread->push(kind, name, detail, sequence, &kKey);
    }
  });
}

void popRegion() noexcept {
  Session* session = nullptr;
  ThreadState* thread = active(session);
  if (thread != nullptr) thread->pop(&kKey);
}

void pause() noexcept {
  if (ThreadState* thread = threadState()) ++thread->paused;
}
void resume() noexcept {
  ThreadState* thread = threadState();
  if (thread != nullptr && thread->paused > 0) --thread->paused;
}

void setStackProvider(StackProvider provider) noexcept { stackProvider.store(provider); }
void setProvenanceProvider(ProvenanceProvider provider) noexcept {
  provenanceProvider.store(provider, std::memory_order_relaxed);
}

void setAfterOp(AfterOp callback) noexcept { afterOp.store(callback, std::memory_order_relaxed); }

OpId lastOp() noexcept {
  Session* session = current();
  return session == nullptr ? OpId{} : session->lastOp();
}

uint64_t generation() noexcept {
  Session* session = current();
  return session == nullptr ? 0 : session->generation;
}

SchemaId schema(const Schema& schema) noexcept {
  SchemaId id;
  guarded("schema", [&](Session& session) {
    if (Writer* writer = session.writer()) id = writer->schema(schema);
    session.values().note(id, schema);
  });
  return id;
}

StackId stack(const Stack& stack) noexcept {
  StackId id;
  guarded("stack", [&](Session& session) {
    if (Writer* writer = session.writer()) id = writer->stack(stack);
  });
  return id;
}

ProvenanceId provenance(const Provenance& provenance) noexcept {
  ProvenanceId id;
  guarded("provenance", [&](Session& session) {
    if (Writer* writer = session.writer()) id = writer->provenance(provenance);
    session.values().note(id, provenance);
    if (Follower* follower = session.follower()) follower->note(id, provenance);
  });
  return id;
}

void environment(std::string_view key, std::string_view value) noexcept {
  guarded("environment", [&](Session& session) { session.environment(key, value); });
}
void meta(std::string_view key, std::string_view value) noexcept {
  guarded("meta", [&](Session& session) { session.meta(key, value); });
}
void event(std::string_view kind, std::string_view json) noexcept {
  guarded("event", [&](Session& session) { session.event(kind, json); });
}
void notSeen(std::string_view reason) noexcept {
  guarded("notSeen", [&](Session& session) { session.notSeen(reason); });
}
void flush() noexcept {
  guarded("flush", [](Session& session) { session.flush(); });
}

struct Call::State {
  Session* session = nullptr;
  ThreadState* thread = nullptr;
  bool open = true;  ///< its frame is on the thread's stack

  /// The frame, where it is still there: not after the recording ended, nor on another thread.
  OpFrame* frame() {
    if (!open || threadState() != thread || thread->session != session) return nullptr;
    // Frames above belong to calls that raised without saying so.
    while (thread->depth != 0 && thread->frames[thread->depth - 1]->key != this) {
      closeFrame(*thread, *thread->frames[thread->depth - 1]);
    }
    return thread->depth == 0 ? nullptr : thread->frames[thread->depth - 1].get();
  }
  void close(OpFrame& frame, bool raised) {
    frame.op.raised = raised;
    if (current() == session) appendFrame(*session, *thread, frame);
    closeFrame(*thread, frame);
    open = false;
  }
};

Call::Call(OpKind kind, SchemaId schema, ProvenanceId provenance,
           std::span<const KernelOperand> operands, std::span<const Scalar> scalars) noexcept
    : state_(nullptr) {
  Session* session = nullptr;
  ThreadState* thread = active(session);
  if (thread == nullptr || thread->busy || thread->paused != 0 || !schema) return;
  if (thread->depth != 0 && thread->frames[thread->depth - 1]->hides) return;
  const Busy busy(*thread);
  try {
    auto state = std::make_unique<State>();
    const OpId parent = thread->depth == 0 ? OpId{} : thread->frames[thread->depth - 1]->op.id;
    bool requiresGrad = false;
    bool writesParameter = false;
    for (const KernelOperand& operand : operands) {
      if (operand.tensor == nullptr || !operand.tensor->defined()) continue;
      const c10::TensorImpl& tensor = *operand.tensor->unsafeGetTensorImpl();
      requiresGrad = requiresGrad || tensor.requires_grad();
      writesParameter = writesParameter ||
                        (operand.access != Access::read && tensor.requires_grad());
    }
    const bool updates =
        kind == OpKind::compiled && writesParameter && !c10::GradMode::is_enabled();
    OpFrame& frame = openFrame(*thread, state.get());
    frame.recorded = true;
    frame.hides = kind != OpKind::compiled;
    frame.op.kind = kind;
    frame.op.parent = parent;
    frame.op.schema = schema;
    frame.op.provenance = provenance;
    state->session = session;
    state->thread = thread;
    state_ = state.release();
    placeOp(*session, *thread, frame.op, requiresGrad, updates, true, -1);
    frame.fingerprints = session->inSteps(frame.op.step);
    if (kind == OpKind::kernel && frame.fingerprints) {
      frame.captured = session->values().wantsKernel(schema, provenance);
      frame.keepsValues = frame.captured || session->follower() != nullptr;
    }
    for (const Scalar& scalar : scalars) addText(frame.scalars, scalar.arg, scalar.text);
    OperandCapture capture(*session, frame);
    int64_t resultBytes = 0;
    for (const KernelOperand& operand : operands) {
      if (operand.tensor == nullptr || !operand.tensor->defined()) continue;
      c10::TensorImpl& tensor = *operand.tensor->unsafeGetTensorImpl();
      if (operand.access == Access::read) {
        if (operand.scratch) {
          capture.skip(tensor, Role::input, operand.arg, operand.item, SkipReason::uninitialised);
        } else {
          capture.read(tensor, Role::input, operand.arg, operand.item);
        }
        continue;
      }
      if (operand.access == Access::readWrite && !operand.scratch) {
        if (operand.uninitialised) {
          capture.skip(tensor, Role::before, operand.arg, operand.item,
                       SkipReason::uninitialised);
        } else {
          capture.read(tensor, Role::before, operand.arg, operand.item);
        }
      }
      c10::raw::weak_intrusive_ptr::incref(&tensor);
      frame.written.push_back({&tensor, operand.arg, operand.item, operand.scratch});
      if (!operand.scratch) resultBytes += tensor.numel() * int64_t(tensor.itemsize());
    }
    if (frame.keepsValues) holdInputs(*session, frame, resultBytes);
  } catch (const std::exception& error) {
    session->failed("call", error.what());
  } catch (...) {
    session->failed("call", "unknown failure");
  }
}

void Call::finish(std::span<const KernelOperand> results) noexcept {
  OpFrame* frame = state_ == nullptr ? nullptr : state_->frame();
  if (frame == nullptr) return;
  const Busy busy(*state_->thread);
  std::unique_ptr<Divergence> divergence;
  try {
    OperandCapture capture(*state_->session, *frame);
    for (const WrittenArgument& written : frame->written) {
      auto& tensor = *static_cast<c10::TensorImpl*>(written.impl);
      if (c10::raw::weak_intrusive_ptr::use_count(&tensor) == 0) continue;
      if (written.scratch) {
        capture.scratch(tensor, written.arg, written.item);
      } else {
        capture.wrote(tensor, Role::after, written.arg, written.item);
      }
    }
    for (const KernelOperand& result : results) {
      if (result.tensor == nullptr || !result.tensor->defined()) continue;
      const c10::TensorImpl& tensor = *result.tensor->unsafeGetTensorImpl();
      // A region's results were written by the ops and kernels inside it, where those are seen.
      capture.result(tensor, result.arg, result.item, frame->op.kind == OpKind::compiled);
    }
    divergence = keepResults(*state_->session, *state_->thread, *frame, {});
  } catch (const std::exception& error) {
    state_->session->failed("call", error.what());
  } catch (...) {
    state_->session->failed("call", "unknown failure");
  }
  Session& session = *state_->session;
  state_->close(*frame, false);
  if (divergence != nullptr) actOn(session, *divergence);
}

Call::~Call() {
  if (state_ == nullptr) return;
  const std::unique_ptr<State> state(state_);
  if (OpFrame* frame = state->frame()) {
    const Busy busy(*state->thread);
    state->close(*frame, true);
  }
}

}  // namespace ulpscope::instrument
