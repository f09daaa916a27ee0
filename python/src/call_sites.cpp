#include "python/src/call_sites.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "dispatch_hook/instrument.h"

namespace ulpscope::python {
namespace {

struct PlaceHash {
  size_t operator()(const CodePlace& place) const noexcept {
    const auto address = reinterpret_cast<uintptr_t>(place.code);
    return (address >> 4) * 0x9ddfea08eb382d69 + size_t(place.offset);
  }
};

struct Entry {
  std::shared_ptr<CallSite> site;
  std::shared_ptr<InternedId<ProvenanceId>> id;  // shared by all instructions of the site
};

/// Leaked: threads may outlive this library's destructors.
struct Table {
  std::shared_mutex mutex;  // of `sites`, which is also read by threads without the GIL
  std::unordered_map<CodePlace, Entry, PlaceHash> sites;
  std::mutex ids;  // of all InternedIds
};
Table& table() {
  static auto* const instance = new Table;
  return *instance;
}

thread_local int compiledDepth = 0;

/// The first entry of the innermost frames; needs the table's lock.
const Entry* findEntry(const Table& all, int frames) {
  PyThreadState* thread = PyGILState_GetThisThreadState();
  if (thread == nullptr) return nullptr;
  const Entry* entry = nullptr;
  walkFrames(thread, [&](const CodePlace& place) {
    const auto found = all.sites.find(place);
    if (found != all.sites.end()) entry = &found->second;
    return entry == nullptr && --frames > 0;
  });
  return entry;
}

#if ULPSCOPE_FRAMES_NEED_GIL
class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};
#else
struct Gil {};
#endif

/// Generated code calls an extern kernel itself or by way of OpOverload.__call__.
constexpr int kFramesOfOp = 3;

ProvenanceId provenanceOfOp() noexcept {
  return compiledDepth == 0 ? ProvenanceId{} : siteOfCaller(kFramesOfOp).provenance;
}

}  // namespace

FoundSite siteOfCaller(int frames) noexcept {
  const uint64_t generation = instrument::generation();
  if (generation == 0) return {};
  try {
    Entry entry;
    {
      [[maybe_unused]] const Gil gil;  // before the table's lock, as addCallSite's callers have it
      Table& all = table();
      const std::shared_lock lock(all.mutex);
      const Entry* found = findEntry(all, frames);
      if (found == nullptr) return {};
      entry = *found;
    }
    const std::lock_guard ids(table().ids);
    const ProvenanceId id =
        entry.id->get(generation, [&] { return instrument::provenance(entry.site->provenance); });
    return {entry.site.get(), id};  // sites are never taken away
  } catch (...) {
    return {};
  }
}

void addCallSite(PyCodeObject* code, const std::vector<int>& offsets,
                 std::shared_ptr<CallSite> site) {
  static const bool provides = [] {
    instrument::setProvenanceProvider(&provenanceOfOp);
    return true;
  }();
  (void)provides;
  const auto id = std::make_shared<InternedId<ProvenanceId>>();
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  for (const int offset : offsets) {
    const bool isNew = all.sites.insert_or_assign({code, offset}, Entry{site, id}).second;
    if (isNew) Py_INCREF(code);  // its address stays its own
  }
}

void enterCompiledGraph() noexcept { ++compiledDepth; }
void leaveCompiledGraph() noexcept { --compiledDepth; }

}  // namespace ulpscope::python
