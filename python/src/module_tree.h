#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Qualified names of torch.nn.Modules, found by walking `_modules`. Everything here needs the GIL,
/// runs no Python code of the program and keeps no module alive.
namespace ulpscope::python {

/// What a module class means for names.
struct ModuleClass {
  std::string name;
  /// For classes that only wrap another module (torch.compile's, DistributedDataParallel, ...): the
  /// key of the wrapped one in `_modules`, which takes the wrapper's name. Empty otherwise.
  std::string wraps;
};

/// Never fails: the entry is cached by class. Valid until the next call.
const ModuleClass& moduleClass(PyObject* module);
/// Name of the module's class, for a wrapper that of the module that it wraps. Valid as above.
const std::string& className(PyObject* module);

/// The modules below one root, by identity, in the order and with the names of named_modules().
class ModuleTree {
 public:
  struct Node {
    PyObject* module = nullptr;  ///< compared, never followed before it was found again
    int parent = -1;
    PyObject* key = nullptr;  ///< in the parent's `_modules`; a reference is held
    std::string name;
    bool wrapped = false;  ///< what its parent, a wrapper, wraps: both have one name
  };

  /// `prefix` stands for the root itself in all names.
  ModuleTree(PyObject* root, std::string prefix);
  ~ModuleTree();
  ModuleTree(const ModuleTree&) = delete;
  ModuleTree& operator=(const ModuleTree&) = delete;

  const Node& node(int index) const { return nodes_[size_t(index)]; }
  size_t size() const { return nodes_.size(); }
  /// Index of a module that is where it was when the tree was walked, checked link by link from the
  /// node `from`, whose module is alive, or from the root where `from` is no ancestor. -1: not there
  /// (any more).
  int find(PyObject* module, int from) const;
  /// Is every module still where it was, and none new?
  bool unchanged() const;

 private:
  void walk(PyObject* module, int index);
  bool reaches(int ancestor, int index) const;
  static bool holds(PyObject* parent, PyObject* key, PyObject* child);

  std::vector<Node> nodes_;
  std::unordered_map<PyObject*, int> index_;
};

}  // namespace ulpscope::python
