#pragma once

#include <string>

#include "diff/groups.h"

namespace ulpscope {

/// Why pairs that start a difference may have been expected to, with the setting that cures it. Only
/// settings that are known to change these ops' bits count, and only where nothing else in the
/// environment could be the cause: thread counts (sums are split otherwise), CPU capability or oneDNN
/// (other instructions, another order), and casts that compiled code leaves out. Random streams are
/// the judge's (Difference::random).
class ExpectedReasons {
 public:
  /// All must outlive it.
  ExpectedReasons(const AlignedSide& a, const AlignedSide& b, const Pairing& pairing);

  /// One sentence, "" where there is no such reason.
  std::string of(const Pair& pair) const;

 private:
  std::string ofSetting(const OpFacts& facts) const;

  const AlignedSide& a_;
  const AlignedSide& b_;
  const Pairing& pairing_;
  EnvironmentDifference setting_;  ///< the only numeric one that differs; no key: none or several
};

}  // namespace ulpscope
