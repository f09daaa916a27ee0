#include "python/src/module_tree.h"

#include <algorithm>
#include <array>

namespace ulpscope::python {
namespace {

struct Wrapper {
  std::string_view module;
  std::string_view name;
  std::string_view key;
};

constexpr std::string_view kCheckpointModule =
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper";
constexpr std::array<Wrapper, 6> kWrappers{{
    {"torch._dynamo.eval_frame", "OptimizedModule", "_orig_mod"},
    {"torch.nn.parallel.distributed", "DistributedDataParallel", "module"},
    {"torch.nn.parallel.data_parallel", "DataParallel", "module"},
    {"torch.distributed.fsdp.fully_sharded_data_parallel", "FullyShardedDataParallel",
     "_fsdp_wrapped_module"},
    {kCheckpointModule, "CheckpointWrapper", "_checkpoint_wrapped_module"},
    {kCheckpointModule, "OffloadWrapper", "_checkpoint_wrapped_module"},
}};

/// A string attribute of a type, "" where it is something else.
std::string typeText(PyTypeObject* type, const char* attribute) {
  PyObject* value = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), attribute);
  const char* utf8 = value != nullptr && PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  std::string result = utf8 != nullptr ? utf8 : "";
  if (utf8 == nullptr) PyErr_Clear();
  Py_XDECREF(value);
  return result;
}

ModuleClass describe(PyTypeObject* type) {
  ModuleClass result;
  PyObject* order = type->tp_mro;
  for (Py_ssize_t i = 0; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    PyObject* base = PyTuple_GET_ITEM(order, i);
    if (!PyType_Check(base)) continue;
    auto* baseType = reinterpret_cast<PyTypeObject*>(base);
    const std::string module = typeText(baseType, "__module__");
    const std::string name = typeText(baseType, "__name__");
    const auto wrapper = std::ranges::find_if(
        kWrappers, [&](const Wrapper& w) { return w.module == module && w.name == name; });
    if (wrapper != kWrappers.end()) result.wraps = wrapper->key;
    // fully_shard gives each module a class of its own, made here; the program's comes behind it.
    if (result.name.empty() && !module.starts_with("torch.distributed.fsdp._fully_shard")) {
      result.name = name;
    }
  }
  return result;
}

/// The module's `_modules`, or null where it has none (a borrowed reference).
PyObject* children(PyObject* module) {
  static PyObject* const key = PyUnicode_InternFromString("_modules");
  PyObject* attributes = PyObject_GenericGetDict(module, nullptr);
  if (attributes == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* found = PyDict_GetItemWithError(attributes, key);
  if (found == nullptr) PyErr_Clear();
  Py_DECREF(attributes);  // the module holds it
  return found != nullptr && PyDict_Check(found) ? found : nullptr;
}

std::string join(const std::string& prefix, PyObject* key) {
  const char* text = PyUnicode_AsUTF8(key);
  if (text == nullptr) {
    PyErr_Clear();
    text = "?";
  }
  return prefix.empty() ? std::string(text) : prefix + "." + text;
}

}  // namespace

const ModuleClass& moduleClass(PyObject* module) {
  struct Entry {
    PyObject* reference;  // weak: classes can be made, and die, by the thousand
    ModuleClass value;
  };
  static auto& classes = *new std::unordered_map<PyTypeObject*, Entry>;
  PyTypeObject* type = Py_TYPE(module);
  auto* object = reinterpret_cast<PyObject*>(type);
  const auto found = classes.find(type);
  if (found != classes.end()) {
    if (PyWeakref_GET_OBJECT(found->second.reference) == object) return found->second.value;
    Py_DECREF(found->second.reference);
    classes.erase(found);
  }
  PyObject* reference = PyWeakref_NewRef(object, nullptr);
  if (reference == nullptr) {
    PyErr_Clear();
    static const ModuleClass unknown{"Module", ""};
    return unknown;
  }
  return classes.insert_or_assign(type, Entry{reference, describe(type)}).first->second.value;
}

const std::string& className(PyObject* module) {
  const ModuleClass* result = &moduleClass(module);
  while (!result->wraps.empty()) {
    PyObject* modules = children(module);
    PyObject* wrapped =
        modules == nullptr ? nullptr : PyDict_GetItemString(modules, result->wraps.c_str());
    if (wrapped == nullptr || wrapped == module) break;
    module = wrapped;
    result = &moduleClass(module);
  }
  return result->name;
}

ModuleTree::ModuleTree(PyObject* root, std::string prefix) {
  nodes_.push_back({root, -1, nullptr, std::move(prefix), false});
  index_.emplace(root, 0);
  walk(root, 0);
}

ModuleTree::~ModuleTree() {
  if (!PyGILState_Check()) return;  // a thread that the interpreter's end stopped inside a module
  for (const Node& node : nodes_) Py_XDECREF(node.key);
}

void ModuleTree::walk(PyObject* module, int index) {
  PyObject* modules = children(module);
  if (modules == nullptr) return;
  const std::string wraps = moduleClass(module).wraps;
  PyObject* key = nullptr;
  PyObject* child = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(modules, &position, &key, &child)) {
    if (child == Py_None || !PyUnicode_Check(key)) continue;
    const int childIndex = int(nodes_.size());
    if (!index_.emplace(child, childIndex).second) continue;  // shared: its first name stays
    const std::string prefix = nodes_[size_t(index)].name;
    const bool wrapped = !wraps.empty() && PyUnicode_CompareWithASCIIString(key, wraps.c_str()) == 0;
    Py_INCREF(key);
    nodes_.push_back({child, index, key, wrapped ? prefix : join(prefix, key), wrapped});
    walk(child, childIndex);
  }
}

bool ModuleTree::holds(PyObject* parent, PyObject* key, PyObject* child) {
  PyObject* modules = children(parent);
  PyObject* found = modules == nullptr ? nullptr : PyDict_GetItemWithError(modules, key);
  if (found == nullptr) PyErr_Clear();
  return found == child;
}

bool ModuleTree::reaches(int ancestor, int index) const {
  if (index == ancestor) return true;
  const Node& current = node(index);
  if (current.parent < 0 || !reaches(ancestor, current.parent)) return false;
  return holds(node(current.parent).module, current.key, current.module);
}

int ModuleTree::find(PyObject* module, int from) const {
  const auto found = index_.find(module);
  if (found == index_.end()) return -1;
  int ancestor = found->second;
  while (ancestor > 0 && ancestor != from) ancestor = node(ancestor).parent;
  return reaches(ancestor, found->second) ? found->second : -1;
}

bool ModuleTree::unchanged() const {
  const ModuleTree now(nodes_[0].module, nodes_[0].name);
  return std::ranges::equal(nodes_, now.nodes_, [](const Node& x, const Node& y) {
    return x.module == y.module && x.name == y.name;
  });
}

}  // namespace ulpscope::python
