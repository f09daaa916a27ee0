#pragma once

#include <c10/core/TensorImpl.h>

namespace ulpscope::native {

/// Which tensor a raw pointer in generated code belongs to: C++ wrapper code asks for each tensor's
/// data pointer just before it calls a kernel with it, or once for all for a constant of the model.
/// Tensors are held weakly. Thread-safe.
void noteDataPointer(const void* data, c10::TensorImpl* tensor) noexcept;

/// The tensor whose pointer this thread asked for last, since the last forgetRecent(); else the one
/// that has been known longest and is alive. Null where there is none.
c10::TensorImpl* tensorAt(const void* data) noexcept;

/// After a call: what this thread asked for was meant for that call.
void forgetRecentPointers() noexcept;

}  // namespace ulpscope::native
