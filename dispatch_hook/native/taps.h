#pragma once

#include <string_view>

#include "dispatch_hook/export.h"

/// Kernels of generated C++ code that is called from C++ (Inductor's cpp_wrapper, AOTInductor
/// packages), where neither the dispatcher nor Python is on the way: their calls are caught in the
/// slots through which the loader binds a shared object's calls. The code itself is not touched.
namespace ulpscope::native {

/// Taps what is loaded, and from now on each model that libtorch loads. Once per process; cheap
/// where it was done. Does not throw.
void installTaps() noexcept;

/// Taps the objects that were loaded since. `path` and `record`, where given: the shared object that
/// a record of its calls (see site_record.h) belongs to. Does not throw.
ULPSCOPE_API void tapLoaded(std::string_view path = {}, std::string_view record = {}) noexcept;

}  // namespace ulpscope::native
