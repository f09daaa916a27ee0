#pragma once

namespace ulpscope::python {

/// Does the autograd engine run a backward pass on this thread?
bool inBackward() noexcept;

}  // namespace ulpscope::python
