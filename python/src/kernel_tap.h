#pragma once

#include <Python.h>

namespace ulpscope::python {

/// Adds to the extension what the taps of compiled code need:
///   KernelTap(callable, name, parameters, code)   calls a compiled kernel and records the call
///   GraphTap(callable, graph, kind, mutated)      the same for the callable of a compiled graph,
///                                                 which becomes a region
///   add_site(code, offsets, graph, kernel, text, sources, ties, flags)
///                                                 what the calls at these instructions stand for
/// Taps hand everything on to the callable, whatever happens here, and cost one comparison while
/// nothing is recorded. Returns -1 with a Python error set where the types can't be made.
int addKernelTaps(PyObject* module);

}  // namespace ulpscope::python
