#include "python/src/in_backward.h"

// By itself: this header brings most of torch.
#include <torch/csrc/autograd/graph_task.h>

namespace ulpscope::python {

bool inBackward() noexcept { return torch::autograd::get_current_graph_task_id() >= 0; }

}  // namespace ulpscope::python
