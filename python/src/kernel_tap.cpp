#include "python/src/kernel_tap.h"

#include <structmember.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "dispatch_hook/instrument.h"
#include "python/src/call_sites.h"

namespace ulpscope::python {
namespace {

using instrument::Access;
using instrument::KernelOperand;

struct KernelInfo {
  Schema schema;
  std::vector<Access> access;  // by parameter
  Provenance anonymous;        // of calls from code without a known site
  InternedId<SchemaId> schemaId;
  InternedId<ProvenanceId> anonymousId;
};

struct GraphInfo {
  std::string graph;
  Schema schema;
  std::vector<bool> mutated;  // by input
  InternedId<SchemaId> schemaId;
};

/// A callable in place of another. Both kinds of tap have this layout.
template <class Info>
struct Tap {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* callable;
  PyObject* dict;
  Info* info;
};

template <class Info>
Tap<Info>* tap(PyObject* self) {
  return reinterpret_cast<Tap<Info>*>(self);
}

/// Python's own text of a scalar, as other scalars of a trace have it.
void addScalar(std::vector<Scalar>& scalars, PyObject* value, int16_t arg) {
  PyObject* text = PyObject_Repr(value);
  const char* utf8 = text == nullptr ? nullptr : PyUnicode_AsUTF8(text);
  if (utf8 != nullptr) scalars.push_back({arg, utf8});
  Py_XDECREF(text);
  if (utf8 == nullptr) PyErr_Clear();
}

/// The tensor inside a Python tensor, alive for as long as the Python object. Null for others.
const at::Tensor* tensorOf(PyObject* value) {
  return THPVariable_Check(value) ? &THPVariable_Unpack(value) : nullptr;
}

// --- kernels ------------------------------------------------------------------------------------

/// Everything up to the call; the operands' tensors belong to the caller's arguments.
void describeKernel(KernelInfo& info, const CallSite* site, PyObject* const* args, size_t count,
                    std::vector<KernelOperand>& operands, std::vector<Scalar>& scalars) {
  operands.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto arg = int16_t(i);
    const at::Tensor* tensor = tensorOf(args[i]);
    if (tensor == nullptr) {
      addScalar(scalars, args[i], arg);
      continue;
    }
    KernelOperand& operand = operands.emplace_back();
    operand.tensor = tensor;
    operand.access = i < info.access.size() ? info.access[i] : Access::readWrite;
    operand.arg = arg;
    if (site != nullptr && i < site->flags.size()) {
      operand.uninitialised = (site->flags[i] & CallSite::kUninitialised) != 0;
      if ((site->flags[i] & CallSite::kUnwritten) != 0) operand.access = Access::read;
    }
  }
}

/// Generated code calls a kernel itself or by way of CachingAutotuner.run.
constexpr int kFramesOfKernel = 2;

PyObject* callKernel(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  Tap<KernelInfo>* const kernel = tap<KernelInfo>(self);
  const uint64_t generation = instrument::generation();
  if (generation == 0) return PyObject_Vectorcall(kernel->callable, args, flags, names);
  KernelInfo& info = *kernel->info;
  std::vector<KernelOperand> operands;
  std::vector<Scalar> scalars;
  FoundSite found;
  SchemaId schema;
  try {
    found = siteOfCaller(kFramesOfKernel);
    if (found.site == nullptr) {
      found.provenance = info.anonymousId.get(
          generation, [&] { return instrument::provenance(info.anonymous); });
    }
    schema = info.schemaId.get(generation, [&] { return instrument::schema(info.schema); });
    describeKernel(info, found.site, args, size_t(PyVectorcall_NARGS(flags)), operands, scalars);
  } catch (...) {
    return PyObject_Vectorcall(kernel->callable, args, flags, names);
  }
  instrument::Call call(OpKind::kernel, schema, found.provenance, operands, scalars);
  PyObject* const result = PyObject_Vectorcall(kernel->callable, args, flags, names);
  if (result != nullptr) call.finish();
  return result;
}

// --- compiled graphs ----------------------------------------------------------------------------

/// Calls visit(tensor, position) for each tensor of a list or tuple, or for the one that it is.
template <class Visit>
void forEachTensor(PyObject* values, Visit&& visit) {
  if (PyList_Check(values) || PyTuple_Check(values)) {
    PyObject** const items = PySequence_Fast_ITEMS(values);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(values); ++i) visit(items[i], int16_t(i));
  } else {
    visit(values, int16_t(0));
  }
}

class CompiledRegion {
 public:
  explicit CompiledRegion(const GraphInfo& info) noexcept {
    instrument::pushRegion(RegionKind::compiled, info.graph, "inductor");
    enterCompiledGraph();
  }
  ~CompiledRegion() {
    leaveCompiledGraph();
    instrument::popRegion();
  }
  CompiledRegion(const CompiledRegion&) = delete;
  CompiledRegion& operator=(const CompiledRegion&) = delete;
};

PyObject* callGraph(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  Tap<GraphInfo>* const graph = tap<GraphInfo>(self);
  const uint64_t generation = instrument::generation();
  if (generation == 0 || names != nullptr || PyVectorcall_NARGS(flags) != 1) {
    return PyObject_Vectorcall(graph->callable, args, flags, names);
  }
  GraphInfo& info = *graph->info;
  std::vector<KernelOperand> operands;
  std::vector<Scalar> scalars;
  SchemaId schema;
  try {
    schema = info.schemaId.get(generation, [&] { return instrument::schema(info.schema); });
    // A boxed call: the graph empties the list, so that inputs die as soon as they can. Operands
    // that are only read are looked at before that, the others are in their owners' hands.
    forEachTensor(args[0], [&](PyObject* value, int16_t position) {
      const at::Tensor* tensor = tensorOf(value);
      if (tensor == nullptr) {
        addScalar(scalars, value, position);
        return;
      }
      const auto i = size_t(position);
      const bool writes = i < info.mutated.size() && info.mutated[i];
      KernelOperand& operand = operands.emplace_back();
      operand.tensor = tensor;
      operand.access = writes ? Access::readWrite : Access::read;
      operand.arg = position;
    });
  } catch (...) {
    return PyObject_Vectorcall(graph->callable, args, flags, names);
  }
  const CompiledRegion region(info);
  instrument::Call call(OpKind::compiled, schema, {}, operands, scalars);
  PyObject* const result = PyObject_Vectorcall(graph->callable, args, flags, names);
  if (result == nullptr) return nullptr;
  try {
    std::vector<KernelOperand> results;
    forEachTensor(result, [&](PyObject* value, int16_t position) {
      const at::Tensor* tensor = tensorOf(value);
      if (tensor == nullptr) return;
      KernelOperand& operand = results.emplace_back();
      operand.tensor = tensor;
      operand.access = Access::write;
      operand.arg = position;
    });
    call.finish(results);
  } catch (...) {
    call.finish();
  }
  return result;
}

// --- the Python types ---------------------------------------------------------------------------

template <class Info>
PyObject* make(PyTypeObject* type, PyObject* callable, vectorcallfunc call, Info&& info) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  Tap<Info>* const made = tap<Info>(self);
  made->vectorcall = call;
  made->callable = Py_NewRef(callable);
  made->info = new (std::nothrow) Info(std::move(info));
  if (made->info == nullptr) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  return self;
}

PyObject* newKernelTap(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* callable = nullptr;
  PyObject* parameters = nullptr;
  const char* name = nullptr;
  const char* code = nullptr;
  if (!PyArg_ParseTuple(args, "OsO!s", &callable, &name, &PyList_Type, &parameters, &code)) {
    return nullptr;
  }
  KernelInfo info;
  info.schema.name = std::string("inductor::") + name;
  info.anonymous.kernel = name;
  info.anonymous.code = code;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parameters); ++i) {
    const char* parameter = nullptr;
    int access = 0;  // of signature.py: read, write, read and write, scalar
    if (!PyArg_ParseTuple(PyList_GET_ITEM(parameters, i), "si", &parameter, &access)) {
      return nullptr;
    }
    info.schema.arguments.emplace_back(parameter);
    info.access.push_back(access == 1   ? Access::write
                          : access == 2 ? Access::readWrite
                                        : Access::read);
  }
  return make(type, callable, &callKernel, std::move(info));
}

PyObject* newGraphTap(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* callable = nullptr;
  PyObject* mutated = nullptr;
  const char *graph, *kind;
  if (!PyArg_ParseTuple(args, "OssO!", &callable, &graph, &kind, &PyList_Type, &mutated)) {
    return nullptr;
  }
  GraphInfo info;
  info.graph = graph;
  info.schema.name = "inductor::graph";
  info.schema.overload = kind;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(mutated); ++i) {
    const Py_ssize_t index = PyNumber_AsSsize_t(PyList_GET_ITEM(mutated, i), PyExc_OverflowError);
    if (index < 0) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "negative index of an input");
      return nullptr;
    }
    if (info.mutated.size() <= size_t(index)) info.mutated.resize(size_t(index) + 1);
    info.mutated[size_t(index)] = true;
  }
  return make(type, callable, &callGraph, std::move(info));
}

template <class Info>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(tap<Info>(self)->callable);
  Py_VISIT(tap<Info>(self)->dict);
  return 0;
}

template <class Info>
int clear(PyObject* self) {
  Py_CLEAR(tap<Info>(self)->callable);
  Py_CLEAR(tap<Info>(self)->dict);
  return 0;
}

template <class Info>
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear<Info>(self);
  delete tap<Info>(self)->info;
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

/// Attributes that a tap has not are the callable's: code that looks at a kernel finds the kernel.
template <class Info>
PyObject* getAttribute(PyObject* self, PyObject* name) {
  if (PyObject* own = PyObject_GenericGetAttr(self, name)) return own;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError) || tap<Info>(self)->callable == nullptr) {
    return nullptr;
  }
  PyErr_Clear();
  return PyObject_GetAttr(tap<Info>(self)->callable, name);
}

template <class Info>
int addType(PyObject* module, const char* qualified, const char* name, newfunc make) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Tap<Info>, vectorcall), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(Tap<Info>, dict), READONLY, nullptr},
      {"__wrapped__", T_OBJECT, offsetof(Tap<Info>, callable), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc<Info>)},
                         {Py_tp_traverse, reinterpret_cast<void*>(&traverse<Info>)},
                         {Py_tp_clear, reinterpret_cast<void*>(&clear<Info>)},
                         {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                         {Py_tp_getattro, reinterpret_cast<void*>(&getAttribute<Info>)},
                         {Py_tp_members, members},
                         {0, nullptr}};
  PyType_Spec spec = {
      qualified, int(sizeof(Tap<Info>)), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) return -1;
  const int added = PyModule_AddObjectRef(module, name, type);
  Py_DECREF(type);
  return added;
}

// --- call sites ---------------------------------------------------------------------------------

/// Reads a tuple's fields, without a Python error where one has another type than `format` says.
SourceOp sourceFrom(PyObject* fields) {
  SourceOp source;
  const char *node, *op, *overload, *module, *moduleClass;
  int backward = 0;
  int order = 0;
  PyObject* stack = nullptr;
  if (!PyArg_ParseTuple(fields, "ssssspiO!", &node, &op, &overload, &module, &moduleClass,
                        &backward, &order, &PyTuple_Type, &stack)) {
    throw std::invalid_argument("source");
  }
  source.node = node;
  source.op = op;
  source.overload = overload;
  source.module = module;
  source.moduleClass = moduleClass;
  source.backward = backward != 0;
  source.order = order;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(stack); ++i) {
    const char *file, *function;
    int line = 0;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(stack, i), "sis", &file, &line, &function)) {
      throw std::invalid_argument("frame");
    }
    source.stack.push_back({file, line, function});
  }
  return source;
}

OutputTie tieFrom(PyObject* fields) {
  OutputTie tie;
  int arg = 0;
  int source = -1;
  int output = 0;
  int reshaped = 0;
  const char* how = nullptr;
  if (!PyArg_ParseTuple(fields, "iiipfs", &arg, &source, &output, &reshaped, &tie.confidence,
                        &how)) {
    throw std::invalid_argument("tie");
  }
  tie.arg = int16_t(arg);
  tie.source = source;
  tie.output = int16_t(output);
  tie.reshaped = reshaped != 0;
  tie.how = how;
  return tie;
}

/// add_site(code, offsets, graph, kernel, source text, sources, ties, flags)
PyObject* addSite(PyObject*, PyObject* args) {
  PyObject *code, *offsets, *sources, *ties, *flags;
  const char *graph, *kernel, *text;
  if (!PyArg_ParseTuple(args, "O!O!sssO!O!O!", &PyCode_Type, &code, &PyList_Type, &offsets, &graph,
                        &kernel, &text, &PyList_Type, &sources, &PyList_Type, &ties, &PyList_Type,
                        &flags)) {
    return nullptr;
  }
  try {
    auto site = std::make_shared<CallSite>();
    site->provenance.graph = graph;
    site->provenance.kernel = kernel;
    site->provenance.code = text;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sources); ++i) {
      site->provenance.sources.push_back(sourceFrom(PyList_GET_ITEM(sources, i)));
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ties); ++i) {
      site->provenance.ties.push_back(tieFrom(PyList_GET_ITEM(ties, i)));
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(flags); ++i) {
      site->flags.push_back(uint8_t(PyLong_AsLong(PyList_GET_ITEM(flags, i))));
    }
    std::vector<int> places;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(offsets); ++i) {
      places.push_back(int(PyLong_AsLong(PyList_GET_ITEM(offsets, i))));
    }
    if (PyErr_Occurred()) return nullptr;
    addCallSite(reinterpret_cast<PyCodeObject*>(code), places, std::move(site));
  } catch (const std::exception& error) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"add_site", addSite, METH_VARARGS, "Says what the calls at some instructions stand for."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int addKernelTaps(PyObject* module) {
  if (PyModule_AddFunctions(module, kMethods) < 0) return -1;
  if (addType<KernelInfo>(module, "ulpscope._C.KernelTap", "KernelTap", &newKernelTap) < 0) {
    return -1;
  }
  return addType<GraphInfo>(module, "ulpscope._C.GraphTap", "GraphTap", &newGraphTap);
}

}  // namespace ulpscope::python
