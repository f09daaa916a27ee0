#include "dispatch_hook/native/call_entry.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

extern "C" {
void ulpscope_call_entry();
void ulpscope_call_forward(void* function, ulpscope::native::CallRegisters* registers,
                           const uint64_t* stack, size_t words);

__attribute__((visibility("hidden"))) void ulpscope_tapped_call(
    const ulpscope::native::Tap* tap, ulpscope::native::CallRegisters* registers,
    const uint64_t* stack, const void* returnAddress) {
  tap->handle(*tap, {tap->function, registers, stack, returnAddress});
}
}

namespace ulpscope::native {

namespace {

struct Stub {
  // endbr64; movq tap(%rip), %r11; jmp *entry(%rip)
  uint8_t code[24] = {0xF3, 0x0F, 0x1E, 0xFA, 0x4C, 0x8B, 0x1D, 0, 0, 0, 0, 0xFF, 0x25, 0, 0, 0, 0};
  void reach(size_t at, const Stub* self, const void* data) {
    const auto distance = int32_t(static_cast<const uint8_t*>(data) - (self->code + at + 4));
    std::memcpy(code + at, &distance, sizeof distance);
  }
};
constexpr size_t kTapAt = 7, kEntryAt = 13;  // of the distances in a stub

/// Stubs by the page, each page followed by one with the addresses that its stubs load: code is
/// written once, before it becomes code.
class StubPages {
 public:
  void* add(const Tap* tap) {
    const std::lock_guard guard(mutex_);
    if (used_ == perPage_ && !grow()) return nullptr;
    taps_[used_] = tap;
    return stubs_ + used_++;
  }

 private:
  bool grow() {
    const auto pageSize = size_t(sysconf(_SC_PAGESIZE));
    void* pages = mmap(nullptr, 2 * pageSize, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return false;
    auto* const stubs = static_cast<Stub*>(pages);
    auto* const data = reinterpret_cast<const void**>(static_cast<char*>(pages) + pageSize);
    const size_t count = pageSize / sizeof(Stub);
    const void** const entry = data + count;
    *entry = reinterpret_cast<const void*>(&ulpscope_call_entry);
    for (size_t i = 0; i < count; ++i) {
      Stub stub;
      stub.reach(kTapAt, stubs + i, data + i);
      stub.reach(kEntryAt, stubs + i, entry);
      stubs[i] = stub;
    }
    if (mprotect(pages, pageSize, PROT_READ | PROT_EXEC) != 0) {
      munmap(pages, 2 * pageSize);
      return false;
    }
    stubs_ = stubs;
    taps_ = data;
    used_ = 0;
    perPage_ = count;
    return true;
  }

  std::mutex mutex_;
  Stub* stubs_ = nullptr;
  const void** taps_ = nullptr;
  size_t used_ = 0, perPage_ = 0;
};

}  // namespace

void* makeEntry(const Tap& tap) noexcept {
  static auto* const pages = new StubPages;
  return pages->add(&tap);
}

void CaughtCall::forward(size_t stackWords) const {
  ulpscope_call_forward(function, registers, stack, stackWords);
}

uint64_t Arguments::floating() {
  uint64_t bits;
  if (vectors_ < 8) {
    std::memcpy(&bits, call_.registers->vector[vectors_++], sizeof bits);
  } else {
    bits = call_.stack[words_++];
  }
  return bits;
}

double Arguments::float64() {
  const uint64_t bits = floating();
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float Arguments::float32() {
  const uint64_t bits = floating();
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace ulpscope::native
