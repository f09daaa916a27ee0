#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ulpscope {

/// What the user says about the alignment; see docs/alignment.md for the file.
struct Mapping {
  struct Ops {
    std::vector<int64_t> a;  ///< op ids
    std::vector<int64_t> b;
  };
  std::vector<std::pair<std::string, std::string>> modules;  ///< prefix in B -> prefix in A
  std::vector<std::pair<std::string, std::string>> names;    ///< operator in B -> operator in A
  std::vector<Ops> ops;

  /// A module path of B as A calls it: the longest matching prefix is replaced.
  std::string modulePath(const std::string& pathOfB) const;
  /// An operator name of B as A calls it.
  const std::string& opName(const std::string& nameOfB) const;
};

/// Reads a mapping file; "" gives an empty mapping. Throws TraceError (one line) where the file is
/// missing or can't be parsed.
Mapping readMapping(const std::string& path);

}  // namespace ulpscope
