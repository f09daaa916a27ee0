#include "python/src/divergence.h"

#include <torch/csrc/autograd/python_variable.h>

#include "dispatch_hook/instrument.h"

namespace ulpscope::python {
namespace {

namespace py = pybind11;

PyObject* handler = nullptr;  // a reference, guarded by the GIL, never given back

const char* roleName(Role role) {
  switch (role) {
    case Role::input: return "input";
    case Role::output: return "output";
    case Role::before: return "before";
    case Role::after: return "after";
  }
  return "unknown";
}

void call(const instrument::Divergence& divergence) noexcept {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  {
    // An exception of the program that is on its way stays as it is.
    const py::error_scope before;
    try {
      py::list operands;
      for (const instrument::DivergentOperand& operand : divergence.operands) {
        operands.append(py::make_tuple(
            roleName(operand.role), operand.arg,
            operand.item < 0 ? py::object(py::none()) : py::object(py::int_(operand.item)),
            py::reinterpret_steal<py::object>(THPVariable_Wrap(operand.tensor))));
      }
      if (handler != nullptr) {
        const py::handle function(handler);
        function(divergence.op.value, divergence.reference.value, divergence.stops, operands);
      }
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("ulpscope: on_divergence");
    } catch (...) {
    }
  }
  PyGILState_Release(state);
}

}  // namespace

void addDivergence(py::module_& extension) {
  extension.def("on_divergence", [](py::object callable) {
    handler = callable.release().ptr();
    instrument::setDivergenceHandler(&call);
  });
}

}  // namespace ulpscope::python
