#pragma once

#include <cstdint>

namespace ulpscope {

/// The last id that a recording gave to something, remembered for as long as that recording lasts.
/// Not thread-safe.
template <class Id>
class InternedId {
 public:
  template <class Make>
  Id get(uint64_t generation, Make&& make) {
    if (generation_ != generation) {
      id_ = make();
      generation_ = generation;
    }
    return id_;
  }

 private:
  uint64_t generation_ = 0;
  Id id_;
};

}  // namespace ulpscope
