#pragma once

#include "python/src/frame_walk.h"  // first: Python.h

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dispatch_hook/interned_id.h"
#include "store/records.h"

/// Which instructions of generated code are calls of which kernel, and what those calls stand for.
namespace ulpscope::python {

struct CallSite {
  Provenance provenance;
  enum Flag : uint8_t {
    kUninitialised = 1,  ///< its content at entry means nothing
    kUnwritten = 2,      ///< its signature says that it is written, its code does not write it
  };
  std::vector<uint8_t> flags;  ///< by parameter
};

/// The site of one of the `frames` innermost Python frames of this thread, with its provenance in the
/// recording that is on; null where generated code is not what calls. Needs no GIL where frames need
/// none.
struct FoundSite {
  const CallSite* site = nullptr;
  ProvenanceId provenance;
};
FoundSite siteOfCaller(int frames) noexcept;

/// Declares that the instructions of `code` at `offsets` belong to `site`; holds a reference to
/// `code`. Needs the GIL. May throw std::bad_alloc.
void addCallSite(PyCodeObject* code, const std::vector<int>& offsets, std::shared_ptr<CallSite> site);

/// Compiled graphs that this thread is in; while there are any, ops ask for their provenance.
void enterCompiledGraph() noexcept;
void leaveCompiledGraph() noexcept;

}  // namespace ulpscope::python
