// The callbacks that torch's dispatcher runs before and after each op.

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <exception>

#include "dispatch_hook/follow.h"
#include "dispatch_hook/observer.h"
#include "dispatch_hook/operands.h"
#include "dispatch_hook/scalars.h"
#include "dispatch_hook/schema_info.h"
#include "dispatch_hook/storage_table.h"
#include "dispatch_hook/value_capture.h"

namespace ulpscope {

std::atomic<instrument::StackProvider> stackProvider{nullptr};
std::atomic<instrument::ProvenanceProvider> provenanceProvider{nullptr};
std::atomic<instrument::AfterOp> afterOp{nullptr};

namespace {

using c10::DispatchKey;
using c10::impl::TorchDispatchModeKey;

/// The compiler's tracing modes: what runs under them is not the program.
bool tracing() {
  if (!c10::impl::tls_is_dispatch_key_included(DispatchKey::Python)) return false;
  using Modes = c10::impl::TorchDispatchModeTLS;
  return Modes::get_mode(TorchDispatchModeKey::FAKE).has_value() ||
         Modes::get_mode(TorchDispatchModeKey::PROXY).has_value() ||
         Modes::get_mode(TorchDispatchModeKey::FUNCTIONAL).has_value();
}

/// Calls visit(tensor, arg, item) for each defined tensor among `values`.
template <class Visit>
void forEachTensor(const c10::IValue& value, int16_t arg, Visit&& visit) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined()) visit(*tensor.unsafeGetTensorImpl(), arg, int16_t(-1));
  } else if (value.isTensorList() || value.isList()) {
    const c10::ArrayRef<c10::IValue> items = value.toListRef();
    int16_t item = 0;
    for (const c10::IValue& each : items) {
      if (each.isTensor()) {
        const at::Tensor& tensor = each.toTensor();
        if (tensor.defined()) visit(*tensor.unsafeGetTensorImpl(), arg, item);
      } else if (each.isTensorList()) {
        forEachTensor(each, arg, visit);
      }
      ++item;
    }
  }
}

bool holdsTensors(const c10::IValue& value) {
  if (value.isTensor()) return true;
  if (!value.isList()) return false;
  const c10::ArrayRef<c10::IValue> items = value.toListRef();
  return std::any_of(items.begin(), items.end(), [](const c10::IValue& item) {
    return item.isTensor() || item.isTensorList();
  });
}

struct InputTraits {
  bool wraps = false;
  bool fake = false;
  bool meta = false;  ///< some are on the meta device
  bool real = false;  ///< some are not
  bool requiresGrad = false;
  bool plainKernels = true;  ///< no nested, sparse or mkldnn tensor among them
};

InputTraits traitsOf(c10::ArrayRef<const c10::IValue> inputs) {
  static constexpr c10::DispatchKeySet kOtherKernels(
      {DispatchKey::NestedTensor, DispatchKey::Sparse, DispatchKey::SparseCsr});
  InputTraits traits;
  for (size_t i = 0; i < inputs.size(); ++i) {
    forEachTensor(inputs[i], int16_t(i), [&](const c10::TensorImpl& tensor, int16_t, int16_t) {
      if (wrapsOthers(tensor)) {
        traits.wraps = true;
        traits.fake = traits.fake || isFake(tensor);
      }
      if (tensor.is_meta()) {
        traits.meta = true;
      } else {
        traits.real = true;
      }
      if (tensor.key_set().has_any(kOtherKernels) || tensor.is_mkldnn()) {
        traits.plainKernels = false;
      }
      traits.requiresGrad = traits.requiresGrad || tensor.requires_grad();
    });
  }
  return traits;
}

/// Whether the op writes a parameter, through the tensor itself or one that shares its memory (an
/// optimizer in C++ writes parameter.data()).
bool writesParameter(Session& session, const SchemaInfo& info,
                     c10::ArrayRef<const c10::IValue> inputs) {
  bool found = false;
  for (size_t i = 0; i < inputs.size() && i < info.arguments.size(); ++i) {
    if (info.arguments[i] == ArgumentUse::read) continue;
    forEachTensor(inputs[i], int16_t(i), [&](const c10::TensorImpl& tensor, int16_t, int16_t) {
      if (found || wrapsOthers(tensor) || !tensor.has_storage()) return;
      const c10::Storage& storage = tensor.unsafe_storage();
      found = storage && session.storages().isParameter(storage.unsafeGetStorageImpl());
    });
  }
  return found;
}

/// Inside a compiled graph that writes parameters: an optimizer's step, which announces itself to
/// nobody once it is compiled.
bool inCompiledUpdate(const ThreadState& thread) {
  for (size_t i = thread.depth; i-- > 0;) {
    const OpFrame& frame = *thread.frames[i];
    if (frame.recorded && frame.op.kind == OpKind::compiled && frame.op.id) {
      return frame.op.phase == Phase::optimizer;
    }
  }
  return false;
}

Phase phaseOf(const ThreadState& thread, bool requiresGrad, bool updatesParameter) {
  if (torch::autograd::get_current_graph_task_id() != -1) return Phase::backward;
  const bool grad = c10::GradMode::is_enabled();
  // A closure that an optimizer calls (LBFGS) computes with gradients, its own arithmetic without.
  if (thread.optimizerRegions != 0 && !(grad && requiresGrad)) return Phase::optimizer;
  if (updatesParameter || inCompiledUpdate(thread)) return Phase::optimizer;
  if (thread.forwardRegions != 0 || (grad && requiresGrad)) return Phase::forward;
  return Phase::other;
}

OpFrame& open(ThreadState& thread, const void* key) {
  if (thread.depth == thread.frames.size()) {
    thread.frames.push_back(std::make_unique<OpFrame>());
  }
  OpFrame& frame = *thread.frames[thread.depth++];
  frame.reset();
  frame.key = key;
  frame.exceptions = std::uncaught_exceptions();
  return frame;
}

ArgumentUse useOf(const SchemaInfo& info, c10::ArrayRef<const c10::IValue> inputs, size_t arg) {
  if (arg >= info.arguments.size()) return ArgumentUse::read;
  const ArgumentUse use = info.arguments[arg];
  if (use != ArgumentUse::readWriteInTraining) return use;
  const c10::IValue& training = inputs[size_t(info.trainingFlag)];
  return training.isBool() && training.toBool() ? ArgumentUse::readWrite : ArgumentUse::read;
}

void captureInputs(Session& session, OpFrame& frame, const SchemaInfo& info,
                   c10::ArrayRef<const c10::IValue> inputs) {
  OperandCapture capture(session, frame);
  const bool wrapper = frame.op.kind == OpKind::wrapper;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto arg = int16_t(i);
    const ArgumentUse use = useOf(info, inputs, i);
    if (!holdsTensors(inputs[i])) {
      // An empty tensor list has no operand; as an integer list it is a scalar like any other.
      if (!inputs[i].isTensorList()) {
        addScalar(frame.scalars, arg, inputs[i],
                  i < info.meanings.size() ? info.meanings[i] : IntegerMeaning::number);
      }
      continue;
    }
    forEachTensor(inputs[i], arg, [&](const c10::TensorImpl& tensor, int16_t, int16_t item) {
      if (use == ArgumentUse::read) {
        capture.read(tensor, Role::input, arg, item);
      } else if (use != ArgumentUse::overwrite) {
        capture.read(tensor, Role::before, arg, item);
      }
      const bool written = use != ArgumentUse::read ||
                           (info.asynchronous && info.name.compare(0, 6, "c10d::") == 0);
      if (written && !wrapper) {
        auto* impl = const_cast<c10::TensorImpl*>(&tensor);
        c10::raw::weak_intrusive_ptr::incref(impl);
        frame.written.push_back({impl, arg, item, false, use == ArgumentUse::reshaped});
      }
    });
  }
}

void captureResults(Session& session, OpFrame& frame, const SchemaInfo& info,
                    c10::ArrayRef<c10::IValue> outputs) {
  OperandCapture capture(session, frame);
  const bool wrapper = frame.op.kind == OpKind::wrapper;
  for (const WrittenArgument& written : frame.written) {
    auto& tensor = *static_cast<c10::TensorImpl*>(written.impl);
    if (c10::raw::weak_intrusive_ptr::use_count(&tensor) == 0) continue;  // freed by the op
    if (info.asynchronous) {
      capture.pending(tensor, Role::after, written.arg, written.item);
    } else if (info.makesEmpty) {
      capture.madeEmpty(tensor, Role::after, written.arg, written.item);
    } else if (written.reshaped) {
      capture.viewed(tensor, Role::after, written.arg, written.item);
    } else {
      capture.wrote(tensor, Role::after, written.arg, written.item);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto arg = int16_t(i);
    forEachTensor(outputs[i], arg, [&](const c10::TensorImpl& tensor, int16_t, int16_t item) {
      // A return that is a written argument was recorded as that argument's `after`.
      for (const WrittenArgument& written : frame.written) {
        if (written.impl == &tensor) return;
      }
      const void* storage =
          tensor.has_storage() && tensor.unsafe_storage()
              ? static_cast<const void*>(tensor.unsafe_storage().unsafeGetStorageImpl())
              : nullptr;
      const bool shared =
          storage != nullptr && std::any_of(frame.seen.begin(), frame.seen.end(),
                                            [&](const SeenOperand& seen) {
                                              return seen.storage == storage;
                                            });
      if (info.asynchronous) {
        capture.pending(tensor, Role::output, arg, item);
      } else if (info.makesEmpty) {
        capture.madeEmpty(tensor, Role::output, arg, item);
      } else if (shared || wrapper) {
        capture.viewed(tensor, Role::output, arg, item);
      } else {
        capture.wrote(tensor, Role::output, arg, item);
      }
    });
  }
}

void letGo(OpFrame& frame) {
  for (const WrittenArgument& written : frame.written) {
    c10::raw::weak_intrusive_ptr::decref(static_cast<c10::TensorImpl*>(written.impl));
  }
  frame.written.clear();
  letInputsGo(frame);
}

void startOp(Session& session, ThreadState& thread, const at::RecordFunction& function,
             const SchemaInfo& info) {
  c10::ArrayRef<const c10::IValue> inputs = function.inputs();
  // A boxed call passes the whole stack; its arguments are on top.
  if (inputs.size() > info.arguments.size()) {
    inputs = inputs.slice(inputs.size() - info.arguments.size());
  }
  const InputTraits traits = traitsOf(inputs);
  if (info.descend && (!info.nestedKernels || traits.plainKernels)) return;
  if (traits.fake || (traits.meta && !traits.real) || tracing()) {
    open(thread, &function);
    return;
  }
  // Below the Python key torch builds values by hand (torch.tensor fills an empty one): modes do not
  // see such calls, and neither do we.
  if (c10::impl::tls_is_dispatch_key_excluded(DispatchKey::Python) && !traits.wraps) return;

  const SchemaId schema = info.id(session);
  if (!schema) return;  // no file, no recording
  const OpId parent = thread.depth == 0 ? OpId{} : thread.frames[thread.depth - 1]->op.id;
  OpFrame& frame = open(thread, &function);
  frame.info = &info;
  frame.recorded = true;
  frame.hides = !traits.wraps;
  RawOp& op = frame.op;
  op.kind = traits.wraps ? OpKind::wrapper : info.collective ? OpKind::collective : OpKind::op;
  op.parent = parent;
  op.schema = schema;
  // An optimizer without a scope (LibTorch's own, or one written by hand) is known by its writes.
  const bool updates = info.writes && thread.optimizerRegions == 0 && !c10::GradMode::is_enabled() &&
                       session.sawBackward.load(std::memory_order_relaxed) &&
                       writesParameter(session, info, inputs);
  placeOp(session, thread, op, traits.requiresGrad, updates, info.makesTensors, function.seqNr());
  frame.viewsInside = info.viewsInside;
  frame.fingerprints = session.inSteps(op.step) && info.wanted(session);
  if (frame.fingerprints && !traits.wraps) {
    frame.captured = session.values().noted(schema, op.provenance);
    frame.keepsValues = frame.captured || session.follower() != nullptr;
  }
  captureInputs(session, frame, info, inputs);
  if (frame.keepsValues) holdInputs(session, frame, 0);
}

std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction& function) {
  Session* session = current();
  if (session == nullptr) return nullptr;
  ThreadState* thread = joinedThread(*session);
  if (thread == nullptr || thread->busy || thread->paused != 0) return nullptr;
  if (thread->depth != 0 && thread->frames[thread->depth - 1]->hides) return nullptr;
  const Busy busy(*thread);
  const size_t depth = thread->depth;
  try {
    if (const SchemaInfo* info = schemaInfo(*thread, function)) {
      startOp(*session, *thread, function, *info);
    }
  } catch (const std::exception& error) {
    session->failed(function.name(), error.what());
    if (thread->depth == depth) return nullptr;
    // The op stays in the trace with the operands collected so far.
  } catch (...) {
    session->failed(function.name(), "unknown failure");
  }
  return nullptr;
}

void callAfterOp(instrument::AfterOp callback, const OpFrame& frame,
                 c10::ArrayRef<c10::IValue> outputs) {
  std::vector<at::Tensor> results;
  for (const WrittenArgument& written : frame.written) {
    auto* impl = static_cast<c10::TensorImpl*>(written.impl);
    if (c10::raw::weak_intrusive_ptr::use_count(impl) != 0) {
      results.emplace_back(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(impl));
    }
  }
  for (const c10::IValue& output : outputs) {
    if (output.isTensor() && output.toTensor().defined()) {
      results.push_back(output.toTensor());
    } else if (output.isTensorList()) {
      for (const at::Tensor& tensor : output.toTensorVector()) results.push_back(tensor);
    }
  }
  callback(frame.op.id, results);
}

void finishOp(Session& session, ThreadState& thread, OpFrame& frame,
              const at::RecordFunction& function) {
  const auto& info = *static_cast<const SchemaInfo*>(frame.info);
  frame.op.raised = std::uncaught_exceptions() > frame.exceptions;
  std::unique_ptr<instrument::Divergence> divergence;
  if (!frame.op.raised) {
    c10::ArrayRef<c10::IValue> outputs = function.outputs();
    if (outputs.size() > info.returns) outputs = outputs.slice(outputs.size() - info.returns);
    try {
      if (const auto callback = afterOp.load(std::memory_order_relaxed)) {
        callAfterOp(callback, frame, outputs);
      }
      captureResults(session, frame, info, outputs);
      divergence = keepResults(session, thread, frame, info.name);
    } catch (const std::exception& error) {
      session.failed(function.name(), error.what());
    }
  }
  appendFrame(session, thread, frame);
  if (divergence != nullptr) actOn(session, *divergence);
}

void onEnd(const at::RecordFunction& function, at::ObserverContext*) {
  Session* session = current();
  ThreadState* thread = threadState();
  if (thread == nullptr || thread->depth == 0 || thread->busy) return;
  OpFrame& frame = *thread->frames[thread->depth - 1];
  if (frame.key != &function) return;
  const Busy busy(*thread);
  if (session != nullptr && thread->session == session && frame.recorded) {
    try {
      finishOp(*session, *thread, frame, function);
    } catch (const std::exception& error) {
      session->failed(function.name(), error.what());
    } catch (...) {
      session->failed(function.name(), "unknown failure");
    }
  }
  letGo(frame);
  --thread->depth;
}

/// A region that a RecordFunction encloses. Ends maybe on another thread.
struct ScopeContext : at::ObserverContext {
  uint64_t generation = 0;
  ThreadState* thread = nullptr;
  std::shared_ptr<std::atomic<bool>> closed;
  bool optimizer = false;
};

/// "Optimizer.step#AdamW.step" -> "AdamW".
std::string_view optimizerName(std::string_view scope) {
  constexpr std::string_view head = "Optimizer.step#";
  constexpr std::string_view tail = ".step";
  if (scope.substr(0, head.size()) != head) return {};
  scope.remove_prefix(head.size());
  if (scope.size() > tail.size() && scope.substr(scope.size() - tail.size()) == tail) {
    scope.remove_suffix(tail.size());
  }
  return scope;
}

std::unique_ptr<at::ObserverContext> onScopeStart(const at::RecordFunction& function) {
  Session* session = current();
  if (session == nullptr) return nullptr;
  ThreadState* thread = joinedThread(*session);
  if (thread == nullptr || thread->busy || thread->paused != 0) return nullptr;
  try {
    const std::string_view name = function.name();
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      session->sawBackward.store(true, std::memory_order_relaxed);
      OpenRegion& region =
          thread->push(RegionKind::autograd, name, {}, function.seqNr(), &function);
      if (function.forwardThreadId() != 0) {
        auto [known, fresh] = thread->threads.try_emplace(function.forwardThreadId());
        if (fresh) known->second = session->threadNumber(function.forwardThreadId());
        region.forwardThread = known->second;
      }
      return nullptr;
    }
    auto context = std::make_unique<ScopeContext>();
    context->generation = session->generation;
    context->thread = thread;
    context->closed = std::make_shared<std::atomic<bool>>(false);
    const std::string_view optimizer = optimizerName(name);
    context->optimizer = !optimizer.empty();
    OpenRegion& region =
        context->optimizer
            ? thread->push(RegionKind::optimizer, optimizer, {}, -1, context.get())
            : thread->push(RegionKind::scope, name, {}, -1, context.get());
    region.closed = context->closed;
    return context;
  } catch (...) {
    session->failed("scope", "could not be entered");
    return nullptr;
  }
}

void onScopeEnd(const at::RecordFunction& function, at::ObserverContext* context) {
  Session* session = current();
  ThreadState* thread = threadState();
  if (thread == nullptr) return;
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    if (session != nullptr && thread->session == session) thread->endNode(&function);
    return;
  }
  auto* scope = static_cast<ScopeContext*>(context);
  if (scope == nullptr) return;
  scope->closed->store(true);
  if (session == nullptr || session->generation != scope->generation) return;
  if (scope->thread == thread) thread->pop(scope);
  if (scope->optimizer) session->optimizerStepEnded();
}

at::CallbackHandle opHandle = at::INVALID_CALLBACK_HANDLE;
at::CallbackHandle scopeHandle = at::INVALID_CALLBACK_HANDLE;

}  // namespace

void appendFrame(Session& session, ThreadState& thread, OpFrame& frame) noexcept {
  frame.op.scalarBytes = uint32_t(frame.scalars.size());
  session.append(thread, frame.op, frame.scalars, frame.operands.bytes());
}

void placeOp(Session& session, ThreadState& thread, RawOp& op, bool requiresGrad,
             bool updatesParameter, bool makesTensors, int64_t sequence) {
  op.phase = phaseOf(thread, requiresGrad, updatesParameter);
  if (op.phase != Phase::backward) thread.leaveEndedNode();
  const bool optimizer = op.phase == Phase::optimizer;
  if (optimizer && thread.optimizerRegions == 0) {
    session.updatedWithoutScope();
  } else if (!optimizer && makesTensors && c10::GradMode::is_enabled()) {
    session.gradModeOp();
  }
  op.step = session.stepOf(optimizer || thread.optimizerRegions != 0 || !makesTensors);
  session.lookAtSettings(op.step);
  op.id = session.startOp();
  op.thread = thread.number;
  op.region = thread.enter(op.id, op.step);
  if (op.phase == Phase::backward) {
    if (const OpenRegion* node = thread.backwardNode()) {
      op.sequence = node->sequence;
      op.forwardThread = node->forwardThread;
    }
  } else {
    op.sequence = sequence;
    op.forwardThread = sequence < 0 ? 0 : thread.number;
  }
  if (const auto provider = stackProvider.load(std::memory_order_relaxed)) {
    op.stack = provider(session.options.stacks);
  }
  const auto origin = provenanceProvider.load(std::memory_order_relaxed);
  if (origin != nullptr && !op.provenance) op.provenance = origin();
}

OpFrame& openFrame(ThreadState& thread, const void* key) { return open(thread, key); }
void closeFrame(ThreadState& thread, OpFrame& frame) {
  letGo(frame);
  --thread.depth;
}

ThreadState* joinedThread(Session& session) noexcept {
  ThreadState* thread = threadState();
  if (thread == nullptr || thread->session.load(std::memory_order_relaxed) == &session) {
    return thread;
  }
  try {
    for (size_t i = 0; i < thread->depth; ++i) letGo(*thread->frames[i]);
    thread->join(session, at::RecordFunction::currentThreadId());
    return thread;
  } catch (...) {
    return nullptr;
  }
}

void installObserver() {
  opHandle = at::addGlobalCallback(at::RecordFunctionCallback(onStart, onEnd)
                                       .needsInputs(true)
                                       .needsOutputs(true)
                                       .scopes({at::RecordScope::FUNCTION}));
  // Without inputs: torch would box the gradients for them.
  scopeHandle = at::addGlobalCallback(
      at::RecordFunctionCallback(onScopeStart, onScopeEnd)
          .scopes({at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE,
                   at::RecordScope::TORCHSCRIPT_FUNCTION}));
}

void removeObserver() noexcept {
  try {
    if (opHandle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(opHandle);
    if (scopeHandle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(scopeHandle);
  } catch (...) {
  }
  opHandle = scopeHandle = at::INVALID_CALLBACK_HANDLE;
}

}  // namespace ulpscope
