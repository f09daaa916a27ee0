#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/event_buffer.h"

namespace ulpscope {

/// A tensor that the op writes, by address: `impl` is a c10::TensorImpl, held weakly.
struct WrittenArgument {
  void* impl = nullptr;
  int16_t arg = 0;
  int16_t item = -1;
  bool scratch = false;
  bool reshaped = false;  ///< only its sizes, strides or memory changed
};

/// What was seen of a tensor earlier in the same op.
struct SeenOperand {
  const void* storage = nullptr;
  uint64_t geometry = 0;
  bool fromWriter = false;      ///< it was what its last recorded writer wrote
  bool fingerprinted = false;
  size_t fingerprintAt = 0;     ///< where it stands in OpFrame::operands
  int64_t elements = 0;
};

/// The elements of a tensor, to be kept while it is there; sizes and strides point into it.
struct TensorValues {
  void* impl = nullptr;  ///< the c10::TensorImpl
  Role role = Role::input;
  int16_t arg = 0;
  int16_t item = -1;
  StridedView view;
  Digest digest;
  int64_t bytes = 0;  ///< of the logical elements
};

/// What an op read, for when it turns out to be wanted after all: the tensor, held weakly, or (where
/// the op writes it) a copy.
struct HeldInput {
  TensorValues values;
  bool copied = false;
  size_t at = 0;  ///< of the copy in OpFrame::copies
  int64_t elements = 0;
};

/// An op between its start and its end. Its memory is reused by later ops of the thread.
struct OpFrame {
  const void* key = nullptr;  ///< the RecordFunction or Call that opened it
  const void* info = nullptr;
  bool hides = false;     ///< ops inside are this one's implementation
  bool recorded = false;  ///< false: hides only (an op on fake tensors)
  bool fingerprints = true;
  bool viewsInside = true;  ///< views that it makes are parts of its inputs (as_strided reaches out)
  bool keepsValues = false;  ///< `values` are collected
  bool captured = false;     ///< and go into the trace
  int exceptions = 0;
  RawOp op;
  std::vector<std::byte> scalars;
  EventBuffer operands;
  std::vector<WrittenArgument> written;
  std::vector<SeenOperand> seen;
  std::vector<TensorValues> values;
  std::vector<HeldInput> held;
  std::vector<std::byte> copies;
  bool heldAll = true;  ///< all that was read is in `held`

  void reset() {
    info = nullptr;
    hides = true;
    recorded = false;
    fingerprints = true;
    viewsInside = true;
    keepsValues = false;
    captured = false;
    heldAll = true;
    op = {};
    scalars.clear();
    operands.clear();
    written.clear();
    seen.clear();
    values.clear();
    held.clear();
    copies.clear();
  }
};

}  // namespace ulpscope
