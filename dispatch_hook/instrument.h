#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch_hook/export.h"
#include "store/records.h"

/// What instrumentation outside the dispatcher (Python modules, compiled kernels) tells the
/// recorder. All calls are for the calling thread, cheap and harmless while nothing is recorded, and
/// never throw.
namespace ulpscope::instrument {

/// Regions nest per thread. Only those in which an op runs are written.
ULPSCOPE_API void pushRegion(RegionKind kind, std::string_view name, std::string_view detail,
                int64_t sequence = -1) noexcept;
ULPSCOPE_API void popRegion() noexcept;

/// While paused (nestable, per thread) ops are not recorded: torch.compile traces, our own work.
ULPSCOPE_API void pause() noexcept;
ULPSCOPE_API void resume() noexcept;

/// Called at the start of each recorded op where set; returns the stack's id or none. `whole` is
/// RecorderOptions::stacks.
using StackProvider = StackId (*)(bool whole) noexcept;
ULPSCOPE_API void setStackProvider(StackProvider provider) noexcept;

/// Called at the start of each recorded op where set; returns the provenance of an op that compiled
/// code calls (an extern kernel), or none.
using ProvenanceProvider = ProvenanceId (*)() noexcept;
ULPSCOPE_API void setProvenanceProvider(ProvenanceProvider provider) noexcept;

/// For tests that plant faults: called on the op's thread after op `id` ran and before what it wrote
/// is fingerprinted, with the tensors it wrote and returned. Ops that the callback runs are not
/// recorded. None by default.
using AfterOp = void (*)(OpId id, std::span<const at::Tensor> results);
ULPSCOPE_API void setAfterOp(AfterOp callback) noexcept;
/// Called where a recording that follows a reference parts from it, before the program is stopped or
/// where it is to be debugged (RecorderOptions::onDivergence), on the op's thread after the op. Ops
/// that it runs are not recorded.
struct DivergentOperand {
  Role role = Role::input;
  int16_t arg = 0;
  int16_t item = -1;
  at::Tensor tensor;  ///< an input that the op has written: a copy of what it was
};
struct Divergence {
  bool stops = false;
  OpId op;
  OpId reference;
  std::string line;  ///< for people
  std::vector<DivergentOperand> operands;
};
using DivergenceHandler = void (*)(const Divergence& divergence) noexcept;
ULPSCOPE_API void setDivergenceHandler(DivergenceHandler handler) noexcept;
/// Id of the last op that has started; none while nothing is recorded.
ULPSCOPE_API OpId lastOp() noexcept;

// Interning into the current trace; ids are valid until stopRecording. generation() changes with
// each recording, so that caches of ids know when to forget. None (0) while nothing is recorded.
ULPSCOPE_API uint64_t generation() noexcept;
ULPSCOPE_API SchemaId schema(const Schema& schema) noexcept;
ULPSCOPE_API StackId stack(const Stack& stack) noexcept;
ULPSCOPE_API ProvenanceId provenance(const Provenance& provenance) noexcept;

ULPSCOPE_API void environment(std::string_view key, std::string_view value) noexcept;
ULPSCOPE_API void meta(std::string_view key, std::string_view value) noexcept;
ULPSCOPE_API void event(std::string_view kind, std::string_view json) noexcept;
/// Some kernels, or what they stand for, are not in the trace. The reasons make its fact `kernels`.
ULPSCOPE_API void notSeen(std::string_view reason) noexcept;
/// Commits everything recorded so far (before exec, say).
ULPSCOPE_API void flush() noexcept;

enum class Access : uint8_t { read, write, readWrite };

struct KernelOperand {
  const at::Tensor* tensor = nullptr;  ///< must outlive the call; undefined tensors are left out
  Access access = Access::read;
  bool scratch = false;        ///< not comparable: fingerprinted never
  bool uninitialised = false;  ///< readWrite whose content at entry means nothing
  int16_t arg = 0;
  int16_t item = -1;
};

/// A call of something that the dispatcher does not see: a compiled kernel, a compiled region.
/// Construct before the call (inputs are fingerprinted), finish after it (outputs are).
class ULPSCOPE_API Call {
 public:
  Call(OpKind kind, SchemaId schema, ProvenanceId provenance,
       std::span<const KernelOperand> operands, std::span<const Scalar> scalars) noexcept;
  ~Call();  ///< without finish: the call raised
  /// `results`: outputs that exist only now (roles output), may be empty.
  void finish(std::span<const KernelOperand> results = {}) noexcept;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  struct State;
  State* state_;  // null while nothing is recorded
};

}  // namespace ulpscope::instrument
