#pragma once

#include <ATen/core/Tensor.h>

#include "dispatch_hook/op_frame.h"
#include "dispatch_hook/session.h"

/// Reading tensors: into operands, without a dispatcher call, a new reference or an exception.
namespace ulpscope {

/// Tensors that hold other tensors, or no data that could be read, by their keys.
bool wrapsOthers(const c10::TensorImpl& tensor) noexcept;
/// A fake tensor of the compiler: its subtree is not the program's.
bool isFake(const c10::TensorImpl& tensor) noexcept;

/// Does a tensor that is alive still hold these values? `values.view` is then what it is now.
bool stillHolds(TensorValues& values);

class OperandCapture {
 public:
  OperandCapture(Session& session, OpFrame& frame) : session_(session), frame_(frame) {}

  /// Before the op: an input, or (Role::before) a tensor that it reads and writes.
  void read(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item);
  /// Recorded without a fingerprint.
  void skip(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item,
            SkipReason reason);
  /// After the op: a tensor that it wrote (Role::after), or a result.
  void wrote(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item);
  /// A result, or an argument that it only reshaped, that the op did not write: a view.
  void viewed(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item);
  /// A result whose content means nothing yet.
  void madeEmpty(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item);
  /// What instrumentation calls scratch: written, not comparable.
  void scratch(const c10::TensorImpl& tensor, int16_t arg, int16_t item);
  /// A result of an instrumented call. An `enclosing` call did not write what ops inside it wrote.
  void result(const c10::TensorImpl& tensor, int16_t arg, int16_t item, bool enclosing);
  /// Content that comes later (an asynchronous collective).
  void pending(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item);

 private:
  struct Described;
  Described describe(const c10::TensorImpl& tensor, Role role, int16_t arg, int16_t item);
  Fingerprint compute(const Described& described);
  void add(const Described& described, const Fingerprint* fingerprint);
  void keepValues(const Described& described, const Fingerprint& content);
  void note(const Described& described, const Fingerprint* fingerprint);
  /// The same content was seen in this op already.
  bool seen(const Described& described, Fingerprint& content) const;
  Fingerprint seenContent(const SeenOperand& seen) const;
  bool keeps(const Described& described) const;

  Session& session_;
  OpFrame& frame_;
};

}  // namespace ulpscope
