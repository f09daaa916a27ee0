#pragma once

#include <cstddef>
#include <cstdint>

/// Calls that are caught on their way to a function of which only the address and, elsewhere, the
/// signature are known. x86-64, System V.
namespace ulpscope::native {

/// Argument registers at the call and, after it, what the function returned. call_entry.S knows
/// this layout.
struct alignas(16) CallRegisters {
  uint64_t integer[6];
  double vector[8][2];
  uint64_t result[2];
  double vectorResult[2][2];
};
static_assert(sizeof(CallRegisters) == 224);

/// A call in flight.
struct CaughtCall {
  void* function;           ///< where it was going
  CallRegisters* registers;
  const uint64_t* stack;    ///< arguments that found no register
  const void* returnAddress;

  /// Lets it happen; may throw what it throws. `stackWords`: of `stack`, at least as many as there are.
  void forward(size_t stackWords) const;
};

/// Reads a call's arguments from first to last.
class Arguments {
 public:
  explicit Arguments(const CaughtCall& call) : call_(call) {}
  uint64_t integer() {
    return integers_ < 6 ? call_.registers->integer[integers_++] : call_.stack[words_++];
  }
  template <class T>
  T* pointer() { return reinterpret_cast<T*>(integer()); }
  double float64();
  float float32();

 private:
  uint64_t floating();
  const CaughtCall& call_;
  size_t integers_ = 0, vectors_ = 0, words_ = 0;
};

/// What is done with the calls that go through one slot.
struct Tap {
  void* function = nullptr;
  void (*handle)(const Tap&, const CaughtCall&) = nullptr;  ///< must forward the call, once
};

/// The address of code that catches calls for `tap`, which must live as long as the process. Null
/// where the system allows no new code.
void* makeEntry(const Tap& tap) noexcept;

}  // namespace ulpscope::native
