#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ulpscope {

/// Default floating-point environment (round to nearest, subnormals kept, nothing trapped) while it
/// lives; then the program's own again, its exception flags untouched. Programs change theirs:
/// torch.set_flush_denormal() would change our sums, feenableexcept() would trap in them.
class DefaultFloatEnvironment {
 public:
#if defined(__SSE2__)
  DefaultFloatEnvironment() noexcept : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~DefaultFloatEnvironment() {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }
#else
  DefaultFloatEnvironment() noexcept = default;
#endif
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

#if defined(__SSE2__)
 private:
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked
  static constexpr unsigned kFlags = 0x3f;
  unsigned saved_;
#endif
};

}  // namespace ulpscope
