#include "dispatch_hook/native/loaded_object.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ulpscope::native {

namespace {

/// The parts of an object's dynamic section that lead to its slots.
struct Dynamic {
  const char* strings = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  std::span<const ElfW(Rela)> relocations;
  std::span<const ElfW(Rela)> calls;
};

Dynamic dynamicOf(const ElfW(Dyn)* section, uintptr_t base) {
  Dynamic found;
  const ElfW(Rela)*relocations = nullptr, *calls = nullptr;
  size_t relocationBytes = 0, callBytes = 0;
  // glibc relocates these pointers in place, except in objects that it may not write (the vDSO).
  const auto at = [&](const ElfW(Dyn)& entry) {
    return entry.d_un.d_ptr < base ? entry.d_un.d_ptr + base : entry.d_un.d_ptr;
  };
  for (; section->d_tag != DT_NULL; ++section) {
    switch (section->d_tag) {
      case DT_STRTAB: found.strings = reinterpret_cast<const char*>(at(*section)); break;
      case DT_SYMTAB: found.symbols = reinterpret_cast<const ElfW(Sym)*>(at(*section)); break;
      case DT_RELA: relocations = reinterpret_cast<const ElfW(Rela)*>(at(*section)); break;
      case DT_RELASZ: relocationBytes = section->d_un.d_val; break;
      case DT_JMPREL: calls = reinterpret_cast<const ElfW(Rela)*>(at(*section)); break;
      case DT_PLTRELSZ: callBytes = section->d_un.d_val; break;
      default: break;
    }
  }
  if (relocations != nullptr) found.relocations = {relocations, relocationBytes / sizeof(*calls)};
  if (calls != nullptr) found.calls = {calls, callBytes / sizeof(*calls)};
  if (found.strings == nullptr || found.symbols == nullptr) found.relocations = found.calls = {};
  return found;
}

int32_t distanceAt(const uint8_t* code) {
  int32_t distance;
  std::memcpy(&distance, code, sizeof distance);
  return distance;
}

}  // namespace

bool LoadedObject::holds(const void* address) const {
  return std::ranges::any_of(segments_, [&](const Range& range) {
    return range.holds(reinterpret_cast<uintptr_t>(address));
  });
}

std::vector<std::vector<const void*>> LoadedObject::callsThrough(
    std::span<const Slot> wanted) const {
  std::unordered_map<uintptr_t, size_t> bySlot, byStub;
  for (size_t i = 0; i < wanted.size(); ++i) {
    bySlot[reinterpret_cast<uintptr_t>(wanted[i].address)] = i;
  }
  std::vector<std::vector<const void*>> found(wanted.size());
  // jmp *slot(%rip) is a stub of the procedure linkage table, maybe after an endbr64 and a bnd;
  // call *slot(%rip) goes without one.
  for (const Range& range : code_) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(range.begin);
    const auto* const end = reinterpret_cast<const uint8_t*>(range.end);
    for (const uint8_t* at = begin; at + 6 <= end; ++at) {
      if (at[0] != 0xFF || (at[1] != 0x25 && at[1] != 0x15)) continue;
      const auto slot = bySlot.find(reinterpret_cast<uintptr_t>(at + 6 + distanceAt(at + 2)));
      if (slot == bySlot.end()) continue;
      if (at[1] == 0x15) {
        found[slot->second].push_back(at + 6);
        continue;
      }
      const uint8_t* stub = at;
      if (stub > begin && stub[-1] == 0xF2) --stub;
      if (stub - begin >= 6 && stub[-6] == 0x41 && stub[-5] == 0xBB) {  // mold: mov $index, %r11d
        byStub[reinterpret_cast<uintptr_t>(stub)] = slot->second;
        stub -= 6;
      }
      byStub[reinterpret_cast<uintptr_t>(stub)] = slot->second;
      constexpr uint8_t kEndbr[] = {0xF3, 0x0F, 0x1E, 0xFA};
      if (stub - begin >= 4 && std::memcmp(stub - 4, kEndbr, 4) == 0) {
        byStub[reinterpret_cast<uintptr_t>(stub - 4)] = slot->second;
      }
    }
  }
  for (const Range& range : code_) {
    const auto* const end = reinterpret_cast<const uint8_t*>(range.end);
    for (const auto* at = reinterpret_cast<const uint8_t*>(range.begin); at + 5 <= end; ++at) {
      if (*at != 0xE8) continue;
      const auto stub = byStub.find(reinterpret_cast<uintptr_t>(at + 5 + distanceAt(at + 1)));
      if (stub != byStub.end()) found[stub->second].push_back(at + 5);
    }
  }
  for (auto& calls : found) std::ranges::sort(calls);
  return found;
}

bool LoadedObject::set(const Slot& slot, void* to) const {
  const auto pageSize = uintptr_t(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(slot.address);
  auto* const page = reinterpret_cast<void*>(address & ~(pageSize - 1));
  // The loader rounds down both ends of what it protects.
  const bool isReadOnly = address >= readOnly_.begin / pageSize * pageSize &&
                          address < readOnly_.end / pageSize * pageSize;
  if (isReadOnly && mprotect(page, pageSize, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<void*>(*slot.address).store(to, std::memory_order_release);
  if (isReadOnly) mprotect(page, pageSize, PROT_READ);
  return true;
}

void forEachObject(const std::function<bool(std::string_view)>& wants,
                   const std::function<void(LoadedObject&)>& visit) {
  struct Found {
    std::vector<LoadedObject> objects;
    const std::function<bool(std::string_view)>& wants;
  } all{{}, wants};
  // The loader's lock is held in there: only collect.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        auto& into = *static_cast<Found*>(context);
        LoadedObject object;
        object.path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        const ElfW(Dyn)* section = nullptr;
        for (size_t i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          const LoadedObject::Range range{begin, begin + header.p_memsz};
          if (header.p_type == PT_DYNAMIC) section = reinterpret_cast<const ElfW(Dyn)*>(begin);
          if (header.p_type == PT_GNU_RELRO) object.readOnly_ = range;
          if (header.p_type != PT_LOAD) continue;
          object.segments_.push_back(range);
          if ((header.p_flags & PF_X) != 0 && (header.p_flags & PF_R) != 0) {
            object.code_.push_back(range);
          }
        }
        if (section == nullptr) return 0;
        const Dynamic dynamic = dynamicOf(section, info->dlpi_addr);
        for (const auto relocations : {dynamic.calls, dynamic.relocations}) {
          for (const ElfW(Rela)& each : relocations) {
            const auto type = ELF64_R_TYPE(each.r_info);
            if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
            const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(each.r_info)];
            const std::string_view name = dynamic.strings + symbol.st_name;
            if (!into.wants(name)) continue;
            Slot& slot = object.slots.emplace_back();
            slot.symbol = name;
            slot.address = reinterpret_cast<void**>(info->dlpi_addr + each.r_offset);
            if (symbol.st_shndx != SHN_UNDEF) slot.own = info->dlpi_addr + symbol.st_value;
          }
        }
        if (!object.slots.empty()) into.objects.push_back(std::move(object));
        return 0;
      },
      &all);
  for (LoadedObject& object : all.objects) visit(object);
}

}  // namespace ulpscope::native
