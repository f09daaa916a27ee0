#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/records.h"

/// What the calls of one piece of generated C++ stand for.
namespace ulpscope::native {

/// Of a call under a provenance handle, or of all calls of a kernel.
struct SiteRecord {
  std::vector<SourceOp> sources;
  /// A tie's `arg` is -1; the parameter's name says which.
  std::vector<std::pair<std::string, OutputTie>> ties;
  std::vector<std::string> uninitialised;  ///< parameters without a value at entry
  std::vector<std::string> unwritten;      ///< parameters that the code does not write after all
};
using SiteRecords = std::unordered_map<std::string, SiteRecord>;  ///< by handle, "kernel:3"

/// What record.native_text() of the Python package writes and this reads; kept in packages.
constexpr int kSiteRecordFormat = 1;
/// Name of the file with the record beside a model that was compiled while ulpscope was there.
constexpr std::string_view kSiteRecordFile = "ulpscope.json";

/// From record.native_text(). Empty, with a reason in `why`, where it is not one.
SiteRecords readSiteRecords(std::string_view json, std::string& why);

/// From the kernel_information.json that AOTInductor writes with provenance tracking on: names of
/// nodes and, where each has one, source lines. No ties. Empty where it cannot be read.
SiteRecords readKernelInformation(std::string_view json);

/// What a kernel's name tells, "cpp_fused_add_native_layer_norm_3": operators, each once, and
/// nothing more.
SiteRecord siteFromName(std::string_view kernel);

}  // namespace ulpscope::native
