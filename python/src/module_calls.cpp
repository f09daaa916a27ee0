#include "python/src/module_calls.h"

#include <algorithm>

#include "dispatch_hook/instrument.h"
#include "dispatch_hook/recorder.h"
#include "python/src/in_backward.h"
#include "python/src/module_tree.h"

namespace ulpscope::python {
namespace {

/// A tree and whether its root still lives.
struct Root {
  PyObject* reference = nullptr;  // weak
  std::shared_ptr<ModuleTree> tree;
  uint64_t used = 0;
};

/// The trees of the roots called so far, forgotten when their roots die. Guarded by the GIL.
class Roots {
 public:
  static Roots& instance() {
    static Roots& roots = *new Roots;
    return roots;
  }

  std::shared_ptr<ModuleTree> get(PyObject* root, const std::string& prefix) {
    const auto found = roots_.find(root);
    if (found != roots_.end()) {
      const bool alive = PyWeakref_GET_OBJECT(found->second.reference) == root;
      if (alive && found->second.tree->node(0).name == prefix) return found->second.tree;
    }
    return walk(root, prefix);
  }

  /// Looks at the root's modules afresh.
  std::shared_ptr<ModuleTree> walk(PyObject* root, const std::string& prefix) {
    if (roots_.size() >= sweepAt_) sweep();
    Root& entry = roots_[root];
    Py_XDECREF(entry.reference);
    entry.reference = PyWeakref_NewRef(root, nullptr);
    entry.tree = std::make_shared<ModuleTree>(root, prefix);
    auto tree = entry.tree;
    if (entry.reference == nullptr) {
      PyErr_Clear();
      roots_.erase(root);
    }
    return tree;
  }

  /// The largest living tree that holds this module below its root.
  std::pair<std::shared_ptr<ModuleTree>, int> containing(PyObject* module) {
    std::pair<std::shared_ptr<ModuleTree>, int> best{nullptr, -1};
    for (const auto& [root, entry] : roots_) {
      if (PyWeakref_GET_OBJECT(entry.reference) != root) continue;
      if (best.first && best.first->size() >= entry.tree->size()) continue;
      if (const int node = entry.tree->find(module, 0); node > 0) best = {entry.tree, node};
    }
    return best;
  }

 private:
  void sweep() {
    for (auto entry = roots_.begin(); entry != roots_.end();) {
      const bool alive = PyWeakref_GET_OBJECT(entry->second.reference) == entry->first;
      if (!alive) Py_DECREF(entry->second.reference);
      entry = alive ? std::next(entry) : roots_.erase(entry);
    }
    sweepAt_ = std::max<size_t>(64, 2 * roots_.size());
  }

  std::unordered_map<PyObject*, Root> roots_;
  size_t sweepAt_ = 64;
};

struct Call {
  std::shared_ptr<ModuleTree> tree;
  int node = 0;
  uint64_t generation = 0;
  bool lookedAfresh = false;  // this root's tree was compared with its modules during this call
};

/// The module calls that this thread is in, outermost first.
std::vector<Call>& calls() {
  thread_local std::vector<Call> stack;
  return stack;
}

/// Walks the outermost root again where its modules changed, and finds the open calls in the new tree.
bool renew(std::vector<Call>& open) {
  const std::shared_ptr<ModuleTree> old = open.front().tree;
  PyObject* root = old->node(0).module;
  if (open.front().node != 0 || old->unchanged()) return false;
  const auto fresh = Roots::instance().walk(root, old->node(0).name);
  for (Call& call : open) {
    if (call.tree != old) continue;
    const int node = fresh->find(old->node(call.node).module, 0);
    if (node < 0) continue;  // taken out while it is called: it keeps its old place
    call.tree = fresh;
    call.node = node;
  }
  return true;
}

/// Where a module called inside `outer` belongs.
Call place(PyObject* module, std::vector<Call>& outer) {
  if (outer.empty()) {
    // Recomputed in the backward pass (activation checkpointing): it has a name from the forward.
    if (inBackward()) {
      auto [tree, node] = Roots::instance().containing(module);
      if (tree) return {std::move(tree), node};
    }
    return {Roots::instance().get(module, ""), 0};
  }
  const ModuleTree* searched = nullptr;
  for (auto call = outer.rbegin(); call != outer.rend(); ++call) {
    if (call->tree.get() == searched) continue;
    searched = call->tree.get();
    if (const int node = searched->find(module, call->node); node >= 0) return {call->tree, node};
  }
  // Not known there: the modules changed since the tree was walked, or it belongs to no module of
  // this root. Looking costs as much as the tree is large, so it is done once a root call.
  if (!outer.front().lookedAfresh) {
    outer.front().lookedAfresh = true;
    if (renew(outer)) return place(module, outer);
  }
  return {Roots::instance().get(module, className(module)), 0};
}

PyObject* enterModule(PyObject*, PyObject* module) {
  if (!recording()) return PyLong_FromLong(0);
  try {
    auto& stack = calls();
    const uint64_t generation = instrument::generation();
    // Left over from a recording that ended meanwhile: names start again.
    while (!stack.empty() && stack.back().generation != generation) stack.pop_back();
    Call call = place(module, stack);
    call.generation = generation;
    const ModuleTree::Node& node = call.tree->node(call.node);
    if (node.wrapped && !stack.empty() && stack.back().tree == call.tree &&
        stack.back().node == node.parent) {
      return PyLong_FromLong(0);
    }
    instrument::pushRegion(RegionKind::module, node.name, className(module));
    stack.push_back(std::move(call));
    return PyLong_FromLong(long(stack.size()));
  } catch (...) {
    return PyLong_FromLong(0);  // out of memory: a call without a region
  }
}

PyObject* leaveModule(PyObject*, PyObject* depth) {
  auto& stack = calls();
  const long below = PyLong_AsLong(depth) - 1;
  const uint64_t generation = instrument::generation();
  // More than one where an interrupt kept an inner call from leaving.
  while (below >= 0 && stack.size() > size_t(below)) {
    if (stack.back().generation == generation) instrument::popRegion();
    stack.pop_back();
  }
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"enter_module", enterModule, METH_O, "Enter the region of a module; returns its depth or 0."},
    {"leave_module", leaveModule, METH_O, "Leave the region of this depth."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void addModuleCalls(PyObject* extension) { PyModule_AddFunctions(extension, kMethods); }

}  // namespace ulpscope::python
