#pragma once

#include <Python.h>

namespace ulpscope::python {

/// Adds enter_module(module) -> int and leave_module(depth) to the extension.
///
/// enter_module makes the calling thread be inside a region of this torch.nn.Module, named from the
/// outermost module that is being called on this thread (its root, whose own name is ""). It returns
/// the depth to give to leave_module, or 0 where there is nothing to leave: nothing is recorded, or
/// the module is what a wrapper wraps and the wrapper's region stands for both. Neither raises.
void addModuleCalls(PyObject* extension);

}  // namespace ulpscope::python
