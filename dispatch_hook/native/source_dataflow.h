#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "dispatch_hook/native/generated_source.h"
#include "dispatch_hook/native/site_record.h"

/// What the text of generated code tells of a kernel call where the compiler kept no record.
namespace ulpscope::native {

/// The text of a kernel's definition, wherever it is; empty where there is none.
using Definition = std::function<std::string_view(const std::string& kernel)>;

/// Completes `site`, whose sources are known, for one call: parameters without a value at entry,
/// results that nobody reads (they are tied to no op), and, where one result remains, the last op as
/// the one whose value it holds.
void readSite(const GeneratedSource& source, const WrittenCall& call,
              const KernelSignature& signature, const Definition& definition, SiteRecord& site);

/// Does the code store to a parameter before it loads from it?
bool storesFirst(std::string_view definition, std::string_view parameter);

/// Is what the call left in `buffer` read later: by another call, or as a result of the model?
bool isReadLater(const GeneratedSource& source, const WrittenCall& call, std::string_view buffer,
                 const Definition& definition);

}  // namespace ulpscope::native
