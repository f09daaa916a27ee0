#include "python/src/frame_walk.h"  // first: Python.h

#include "python/src/stack_provider.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "dispatch_hook/instrument.h"

namespace ulpscope::python {
namespace {

enum class Owner : uint8_t {
  program,
  torch,
  hidden,  // this package and the import machinery
};

struct CodeEntry {
  Owner owner = Owner::program;
  Frame frame;  // without a line
};

// Both guarded by the GIL and leaked: other threads may outlive this library's destructors.
StackFolders* folders = nullptr;
std::unordered_map<PyCodeObject*, CodeEntry>* codes = nullptr;  // holds a reference to each key

struct PlaceHash {
  size_t operator()(const std::vector<CodePlace>& places) const noexcept {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (const CodePlace& place : places) {
      hash ^= reinterpret_cast<uintptr_t>(place.code);
      hash += uint64_t(uint32_t(place.offset)) * 0x9ddfea08eb382d69;
      hash *= 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

/// What one thread knows already; used without a lock and without the GIL.
struct ThreadCache {
  std::unordered_map<PyCodeObject*, Owner> owners;
  std::unordered_map<std::vector<CodePlace>, StackId, PlaceHash> stacks;
  uint64_t generation = 0;
  std::vector<CodePlace> places;  // scratch
};

ThreadCache& threadCache() {
  thread_local ThreadCache cache;
  return cache;
}

/// Holds the GIL and puts a pending exception of the program aside.
class WithInterpreter {
 public:
  WithInterpreter() : state_(PyGILState_Ensure()) { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~WithInterpreter() {
    PyErr_Restore(type_, value_, traceback_);
    PyGILState_Release(state_);
  }
  WithInterpreter(const WithInterpreter&) = delete;
  WithInterpreter& operator=(const WithInterpreter&) = delete;

 private:
  PyGILState_STATE state_;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

std::string text(PyObject* unicode) {
  const char* utf8 = unicode == nullptr ? nullptr : PyUnicode_AsUTF8(unicode);
  if (utf8 == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return utf8;
}

Owner ownerOf(const std::string& file) {
  const auto isPrefix = [&](const std::string& prefix) { return file.starts_with(prefix); };
  if (std::ranges::any_of(folders->hidden, isPrefix)) return Owner::hidden;
  if (std::ranges::any_of(folders->torch, isPrefix)) return Owner::torch;
  return Owner::program;
}

/// Needs the GIL.
const CodeEntry& entryOf(PyCodeObject* code) {
  auto [entry, isNew] = codes->try_emplace(code);
  if (isNew) {
    Py_INCREF(code);
    entry->second.frame = {text(code->co_filename), 0, text(code->co_name)};
    entry->second.owner = ownerOf(entry->second.frame.file);
  }
  return entry->second;
}

/// Fills cache.places; false where a code object is met for the first time and `canLearn` is not set
/// (learning needs the GIL).
bool collect(ThreadCache& cache, PyThreadState* thread, bool whole, bool canLearn) {
  cache.places.clear();
  bool known = true;
  walkFrames(thread, [&](const CodePlace& place) {
    auto owner = cache.owners.find(place.code);
    if (owner == cache.owners.end()) {
      if (!canLearn) return known = false;
      owner = cache.owners.emplace(place.code, entryOf(place.code).owner).first;
    }
    if (owner->second == Owner::hidden) return true;
    cache.places.push_back(place);
    return whole || owner->second != Owner::program;
  });
  return known;
}

/// Needs the GIL.
StackId intern(const std::vector<CodePlace>& places) {
  Stack stack;
  stack.reserve(places.size());
  for (const CodePlace& place : places) {
    Frame& frame = stack.emplace_back(entryOf(place.code).frame);
    frame.line = PyCode_Addr2Line(place.code, place.offset);
  }
  return instrument::stack(stack);
}

bool interpreterEnds() {
#if PY_VERSION_HEX >= 0x030D0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

StackId provideStack(bool whole) noexcept {
  try {
    if (interpreterEnds()) return {};
    PyThreadState* thread = PyGILState_GetThisThreadState();
    if (thread == nullptr) return {};  // a thread that never ran Python

    ThreadCache& cache = threadCache();
    if (const uint64_t now = instrument::generation(); now != cache.generation) {
      cache.stacks.clear();
      cache.generation = now;
    }
#if ULPSCOPE_FRAMES_NEED_GIL
    std::optional<WithInterpreter> interpreter(std::in_place);
    collect(cache, thread, whole, true);
#else
    std::optional<WithInterpreter> interpreter;
    if (!collect(cache, thread, whole, false)) {
      interpreter.emplace();
      collect(cache, thread, whole, true);
    }
#endif
    if (cache.places.empty()) return {};
    if (const auto known = cache.stacks.find(cache.places); known != cache.stacks.end()) {
      return known->second;
    }
    if (!interpreter) interpreter.emplace();
    const StackId id = intern(cache.places);
    cache.stacks.emplace(cache.places, id);
    return id;
  } catch (...) {
    return {};  // out of memory: an op without a stack
  }
}

}  // namespace

void installStackProvider(StackFolders newFolders) {
  if (folders == nullptr) {
    folders = new StackFolders;
    codes = new std::unordered_map<PyCodeObject*, CodeEntry>;
  }
  *folders = std::move(newFolders);
  instrument::setStackProvider(&provideStack);
}

}  // namespace ulpscope::python
