#pragma once

#include <memory>
#include <string>

#include "dispatch_hook/native/call_entry.h"
#include "dispatch_hook/native/generated_object.h"
#include "dispatch_hook/native/generated_source.h"

/// What is recorded of the calls that are caught.
namespace ulpscope::native {

/// Calls of a kernel. `signature` is copied; without one its operands are not known.
std::unique_ptr<Tap> kernelTap(void* function, Provenance anonymous,
                               const KernelSignature* signature);
/// Calls of aoti_torch_cpu_*. Null where there is no operator to record.
std::unique_ptr<Tap> shimTap(void* function, const std::string& name);
/// Calls of aoti_torch_get_data_ptr, which tell which tensor a kernel's pointer belongs to.
std::unique_ptr<Tap> pointerTap(void* function);
/// Calls of a whole model.
std::unique_ptr<Tap> runTap(void* function, const std::string& model);

/// The call that returns to `place` stands for `site`.
void addSite(const void* place, std::unique_ptr<CallSite> site);

}  // namespace ulpscope::native
