#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The shared objects (and the program) that are loaded, and the slots through which they call
/// functions of other objects or functions of their own that could be replaced.
namespace ulpscope::native {

/// Where the loader put the address of a function. Lazily bound slots lead into the object itself
/// until the first call.
struct Slot {
  std::string_view symbol;
  void** address = nullptr;
  uintptr_t own = 0;  ///< the function, where this object defines it; 0: another one does
};

class LoadedObject {
 public:
  std::string path;  ///< empty: the program itself
  std::vector<Slot> slots;

  bool holds(const void* address) const;
  /// Which of the slots' calls stand where in the code, found by reading it: for each of `slots`, the
  /// addresses after its call instructions, ascending.
  std::vector<std::vector<const void*>> callsThrough(std::span<const Slot> slots) const;
  /// Puts `to` in a slot. False where the memory cannot be written.
  bool set(const Slot& slot, void* to) const;

 private:
  friend void forEachObject(const std::function<bool(std::string_view)>&,
                            const std::function<void(LoadedObject&)>&);
  struct Range {
    uintptr_t begin = 0, end = 0;
    bool holds(uintptr_t address) const { return address >= begin && address < end; }
  };
  std::vector<Range> segments_, code_;
  Range readOnly_;  ///< made so after relocation
};

/// Visits all objects that are loaded now; `wants` says which symbols' slots matter.
void forEachObject(const std::function<bool(std::string_view symbol)>& wants,
                   const std::function<void(LoadedObject&)>& visit);

}  // namespace ulpscope::native
