#pragma once

#include <pybind11/pybind11.h>

namespace ulpscope::python {

/// Adds on_divergence(callable) to the extension: callable(op id, reference's op id, stops, operands),
/// operands a list of (role, arg, item, tensor), is what instrument::setDivergenceHandler calls.
void addDivergence(pybind11::module_& extension);

}  // namespace ulpscope::python
