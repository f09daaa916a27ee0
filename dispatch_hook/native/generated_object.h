#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatch_hook/interned_id.h"
#include "dispatch_hook/native/generated_source.h"
#include "dispatch_hook/native/loaded_object.h"
#include "dispatch_hook/native/site_record.h"
#include "store/records.h"

/// A shared object of generated code, joined with its source text and with what is known of its calls.
namespace ulpscope::native {

/// One call instruction of generated code.
struct CallSite {
  Provenance provenance;
  std::vector<bool> uninitialised;  ///< by parameter: its content at entry means nothing
  std::vector<bool> unwritten;      ///< by parameter: not written, whatever its signature says
  /// Its provenance's id in the recording that is on.
  ProvenanceId id() const;

 private:
  mutable std::mutex mutex_;
  mutable InternedId<ProvenanceId> id_;
};

class GeneratedObject {
 public:
  /// Reads what lies beside the object; `record` is given where the compiler's record is at hand.
  GeneratedObject(const LoadedObject& object, std::string_view record);

  const std::string& name() const { return name_; }
  /// Null where no source tells.
  const KernelSignature* signature(const std::string& kernel) const;
  Provenance anonymous(const std::string& kernel) const;
  /// The sites of the calls through these slots, by the address where each call returns to.
  std::vector<std::pair<const void*, std::unique_ptr<CallSite>>> sites(
      const LoadedObject& object, const std::vector<Slot>& slots) const;
  /// Kernels whose calls are in the source and for which `slots` has no slot.
  std::vector<std::string> unreachable(const std::vector<Slot>& slots) const;
  bool hasSource() const { return source_.has_value(); }
  size_t calls(bool ofKernels) const;

 private:
  std::string_view definition(const std::string& kernel) const;
  std::unique_ptr<CallSite> site(const WrittenCall& call) const;

  std::string name_;
  std::optional<GeneratedSource> source_;
  std::vector<std::unique_ptr<GeneratedSource>> definitions_;
  SiteRecords records_;
};

}  // namespace ulpscope::native
