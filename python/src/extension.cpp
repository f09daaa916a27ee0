#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

#include "dispatch_hook/instrument.h"
#include "dispatch_hook/native/taps.h"
#include "dispatch_hook/recorder.h"
#include "python/src/divergence.h"
#ifdef ULPSCOPE_KERNEL_TAP
#include "python/src/kernel_tap.h"
#endif
#include "python/src/module_calls.h"
#include "python/src/stack_provider.h"

// ulpscope._C: what the recorder offers to Python code. Built for one version of torch and one of
// Python; ulpscope/_session.py checks both before it imports this.

namespace ulpscope::python {
namespace {

namespace py = pybind11;

[[noreturn]] void refuse(const std::string& line) { throw py::value_error(line); }

InputMode inputMode(const std::string& text) {
  if (text == "always") return InputMode::always;
  if (text == "tracked") return InputMode::tracked;
  if (text == "off") return InputMode::off;
  refuse("inputs must be 'always', 'tracked' or 'off', not '" + text + "'");
}

int level(const std::string& text) {
  if (text == "digest") return 0;
  if (text == "stats") return 1;
  if (text == "full") return 2;
  refuse("level must be 'digest', 'stats' or 'full', not '" + text + "'");
}

OnDivergence divergence(const std::string& text) {
  if (text == "capture") return OnDivergence::capture;
  if (text == "stop") return OnDivergence::stop;
  if (text == "pdb") return OnDivergence::pdb;
  refuse("on_divergence must be 'capture', 'stop' or 'pdb', not '" + text + "'");
}

void startWith(const RecorderOptions& options) {
  std::string error;
  {
    py::gil_scoped_release release;
    error = startRecording(options);
  }
  if (!error.empty()) throw std::runtime_error(error);
}

void start(const std::string& path, const std::string& inputs, const std::string& levelText,
           bool stacks, std::vector<std::string> include, std::vector<std::string> exclude,
           std::pair<int64_t, std::optional<int64_t>> steps, std::vector<std::string> capture,
           int64_t captureLimit, const std::string& against, const std::string& onDivergence) {
  RecorderOptions options;
  options.path = path;
  options.inputs = inputMode(inputs);
  options.level = level(levelText);
  options.stacks = stacks;
  options.include = std::move(include);
  options.exclude = std::move(exclude);
  options.firstStep = steps.first;
  if (steps.second) options.lastStep = *steps.second;
  if (captureLimit < 0) refuse("capture_limit must not be negative");
  options.captureFirst = std::erase(capture, "first") != 0;
  options.capture = std::move(capture);
  options.captureLimit = captureLimit;
  options.against = against;
  options.onDivergence = divergence(onDivergence);
  startWith(options);
}

RegionKind regionKind(const std::string& text) {
  if (text == "module") return RegionKind::module;
  if (text == "compiled") return RegionKind::compiled;
  if (text == "autograd") return RegionKind::autograd;
  if (text == "optimizer") return RegionKind::optimizer;
  if (text == "scope") return RegionKind::scope;
  if (text == "higher_order") return RegionKind::higherOrder;
  refuse("unknown kind of region '" + text + "'");
}

Stack stackFrom(const py::handle& frames) {
  Stack stack;
  for (const py::handle& frame : frames) {
    const auto [file, line, function] = frame.cast<std::tuple<std::string, int32_t, std::string>>();
    stack.push_back({file, line, function});
  }
  return stack;
}

template <class T>
T field(const py::handle& record, const char* key, T absent = T()) {
  const py::dict fields = py::reinterpret_borrow<py::dict>(record);
  return fields.contains(key) ? fields[key].cast<T>() : absent;
}

uint32_t internProvenance(const py::dict& record) {
  Provenance provenance;
  provenance.graph = field<std::string>(record, "graph");
  provenance.kernel = field<std::string>(record, "kernel");
  provenance.code = field<std::string>(record, "code");
  for (const py::handle& entry : field<py::list>(record, "sources")) {
    SourceOp& source = provenance.sources.emplace_back();
    source.node = field<std::string>(entry, "node");
    source.op = field<std::string>(entry, "op");
    source.overload = field<std::string>(entry, "overload");
    source.module = field<std::string>(entry, "module");
    source.moduleClass = field<std::string>(entry, "module_class");
    source.backward = field<bool>(entry, "backward");
    source.order = field<int32_t>(entry, "order");
    source.stack = stackFrom(field<py::list>(entry, "stack"));
  }
  for (const py::handle& entry : field<py::list>(record, "ties")) {
    provenance.ties.push_back({field<int16_t>(entry, "arg"), field<int32_t>(entry, "source", -1),
                               field<float>(entry, "confidence"),
                               field<std::string>(entry, "how")});
  }
  return instrument::provenance(provenance).value;
}

uint32_t internSchema(std::string name, std::string overload, std::vector<std::string> arguments,
                      std::vector<std::string> returns) {
  return instrument::schema(
                 {std::move(name), std::move(overload), std::move(arguments), std::move(returns)})
      .value;
}

// Called often: plain functions, not pybind11's.
PyObject* pauseRecording(PyObject*, PyObject*) {
  instrument::pause();
  Py_RETURN_NONE;
}
PyObject* resumeRecording(PyObject*, PyObject*) {
  instrument::resume();
  Py_RETURN_NONE;
}
PyObject* isRecording(PyObject*, PyObject*) { return PyBool_FromLong(recording()); }
PyObject* generation(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(instrument::generation());
}
PyObject* popRegion(PyObject*, PyObject*) {
  instrument::popRegion();
  Py_RETURN_NONE;
}

PyMethodDef kFastMethods[] = {
    {"pause", pauseRecording, METH_NOARGS, "Record no ops of this thread until resume()."},
    {"resume", resumeRecording, METH_NOARGS, "Undo one pause()."},
    {"recording", isRecording, METH_NOARGS, "Is this process recording?"},
    {"generation", generation, METH_NOARGS, "Changes with each recording; ids last as long."},
    {"pop_region", popRegion, METH_NOARGS, "Leave the innermost region of this thread."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PYBIND11_MODULE(_C, extension) {
  PyModule_AddFunctions(extension.ptr(), kFastMethods);
  addModuleCalls(extension.ptr());
  addDivergence(extension);
#ifdef ULPSCOPE_KERNEL_TAP
  if (addKernelTaps(extension.ptr()) != 0) throw py::error_already_set();
#endif

  extension.def("start", &start, py::arg("path"), py::kw_only(), py::arg("inputs") = "always",
                py::arg("level") = "full", py::arg("stacks") = false,
                py::arg("include") = std::vector<std::string>{},
                py::arg("exclude") = std::vector<std::string>{},
                py::arg("steps") = std::pair<int64_t, std::optional<int64_t>>{0, std::nullopt},
                py::arg("capture") = std::vector<std::string>{"first"},
                py::arg("capture_limit") = RecorderOptions().captureLimit,
                py::arg("against") = "", py::arg("on_divergence") = "capture");
  extension.def("start_from_environment", [] { startWith(optionsFromEnvironment()); });
  extension.def("stop", &stopRecording, py::call_guard<py::gil_scoped_release>());
  extension.def("step", &nextStep);
  extension.def("flush", &instrument::flush, py::call_guard<py::gil_scoped_release>());
  extension.def(
      "push_region",
      [](const std::string& kind, const std::string& name, const std::string& detail,
         int64_t sequence) { instrument::pushRegion(regionKind(kind), name, detail, sequence); },
      py::arg("kind"), py::arg("name"), py::arg("detail") = "", py::arg("sequence") = -1);
  extension.def("event", [](const std::string& kind, const std::string& json) {
    instrument::event(kind, json);
  });
  extension.def("environment", [](const std::string& key, const std::string& value) {
    instrument::environment(key, value);
  });
  extension.def("meta", [](const std::string& key, const std::string& value) {
    instrument::meta(key, value);
  });
  extension.def("not_seen", [](const std::string& reason) { instrument::notSeen(reason); });
  extension.def("tap_native", [](const std::string& path, const std::string& record) {
    native::tapLoaded(path, record);
  });
  extension.def("schema", &internSchema, py::arg("name"), py::arg("overload"),
                py::arg("arguments"), py::arg("returns"));
  extension.def("provenance", &internProvenance);
  extension.def("install_stacks", [](std::vector<std::string> torch,
                                     std::vector<std::string> hidden) {
    installStackProvider({std::move(torch), std::move(hidden)});
  });
}

}  // namespace ulpscope::python
