#include "dispatch_hook/native/taps.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "dispatch_hook/instrument.h"
#include "dispatch_hook/json_text.h"
#include "dispatch_hook/native/call_entry.h"
#include "dispatch_hook/native/generated_object.h"
#include "dispatch_hook/native/kernel_call.h"
#include "dispatch_hook/native/loaded_object.h"

extern "C" {
void ulpscope_dlsym_entry();
__attribute__((visibility("hidden"))) void* (*ulpscope_real_dlsym)(void*, const char*) = nullptr;
__attribute__((visibility("hidden"))) void* ulpscope_symbol_asked(void* handle, const char* name);
}

namespace ulpscope::native {

namespace {

constexpr std::string_view kKernel = "cpp_";
constexpr std::string_view kShim = "aoti_torch_cpu_";
constexpr std::string_view kPointer = "aoti_torch_get_data_ptr";
constexpr std::string_view kRun = "AOTInductorModelContainerRun";
constexpr std::string_view kRunAlone = "AOTInductorModelContainerRunSingleThreaded";

bool isRun(std::string_view symbol) { return symbol == kRun || symbol == kRunAlone; }

bool wanted(std::string_view symbol) {
  return symbol.starts_with(kKernel) || symbol.starts_with(kShim) || symbol == kPointer ||
         symbol == "dlsym" || isRun(symbol);
}

std::string_view fileOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Parts of torch and of ours, which call the same functions for purposes of their own.
bool isOurs(std::string_view path) {
  const std::string_view file = fileOf(path);
  return file.starts_with("libulpscope_") || file.starts_with("libc.so") ||
         file.starts_with("libdl.so") || file.starts_with("ld-linux");
}
bool isTorch(std::string_view path) {
  const std::string_view file = fileOf(path);
  return file.starts_with("libtorch") || file.starts_with("libc10");
}

void* torchFunction(const char* name) {
  static void* const torch = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  return torch == nullptr ? nullptr : dlsym(torch, name);
}

/// All that was done to the process. Never destroyed: tapped slots lead here until the end.
struct Taps {
  std::mutex mutex;  // one scan at a time
  std::unordered_map<void**, void*> entries;  // what was put in which slot
  std::unordered_map<std::string, std::string> records;  // of shared objects that Python told of
  bool refused = false;
};
Taps& taps() {
  static auto* const instance = new Taps;
  return *instance;
}

void say(const std::string& text) {
  instrument::event("message", "{\"text\": " + jsonText(text) + "}");
}

class ObjectTaps {
 public:
  /// `isTold`: its record has come, be it that its slots were tapped before.
  ObjectTaps(LoadedObject& object, bool isTold) : object_(object), isTold_(isTold) {}

  void apply() {
    std::vector<Slot> kernels, shims;
    bool isGenerated = false;
    for (const Slot& slot : object_.slots) {
      const bool tapped = isTapped(slot);
      if (tapped && !isTold_) continue;
      if (slot.symbol.starts_with(kShim) || slot.symbol.starts_with(kKernel)) {
        if (!isTorch(object_.path)) (slot.symbol.starts_with(kShim) ? shims : kernels).push_back(slot);
      } else if (tapped) {
        continue;
      } else if (slot.symbol == "dlsym") {
        object_.set(slot, reinterpret_cast<void*>(&ulpscope_dlsym_entry));
        taps().entries[slot.address] = reinterpret_cast<void*>(&ulpscope_dlsym_entry);
      } else if (isTorch(object_.path)) {
        continue;
      } else if (isRun(slot.symbol) && slot.own == 0) {
        tap(slot, runTap(functionOf(slot), "model"));
      } else if (slot.symbol == kPointer) {
        isGenerated = true;
        tap(slot, pointerTap(functionOf(slot)));
      }
    }
    if (isGenerated || !shims.empty() || !kernels.empty()) generated(kernels, shims);
  }

 private:
  static bool isTapped(const Slot& slot) {
    const auto known = taps().entries.find(slot.address);
    return known != taps().entries.end() && *slot.address == known->second;
  }

  /// Where the slot's calls go; the loader may not have found out yet.
  void* functionOf(const Slot& slot) const {
    void* const now = *slot.address;
    if (now != nullptr && !object_.holds(now)) return now;
    if (slot.own != 0) return reinterpret_cast<void*>(slot.own);
    return torchFunction(std::string(slot.symbol).c_str());
  }

  void tap(const Slot& slot, std::unique_ptr<Tap> made) {
    if (made == nullptr || made->function == nullptr) return;
    void* const entry = makeEntry(*made);
    if (entry == nullptr || !object_.set(slot, entry)) {
      if (!std::exchange(taps().refused, true)) {
        instrument::notSeen("this system does not let calls of kernels in C++ be caught");
      }
      return;
    }
    (void)made.release();  // the slot may be called until the process ends
    taps().entries[slot.address] = entry;
  }

  void generated(const std::vector<Slot>& kernels, const std::vector<Slot>& shims) {
    const auto record = taps().records.find(object_.path);
    const GeneratedObject known(object_, record == taps().records.end() ? "" : record->second);
    std::vector<Slot> all = kernels;
    all.insert(all.end(), shims.begin(), shims.end());
    for (auto& [place, site] : known.sites(object_, all)) addSite(place, std::move(site));
    for (const Slot& slot : kernels) {
      if (isTapped(slot)) continue;
      const std::string name(slot.symbol);
      tap(slot, kernelTap(functionOf(slot), known.anonymous(name), known.signature(name)));
      if (known.signature(name) == nullptr) {
        say("the operands of " + name + " in " + known.name() +
            " are not known: its source is not beside the library");
      }
    }
    for (const Slot& slot : shims) {
      if (isTapped(slot)) continue;
      const std::string name(slot.symbol);
      tap(slot, shimTap(functionOf(slot), name));
    }
    const std::vector<std::string> missing = known.unreachable(kernels);
    for (const std::string& kernel : missing) {
      instrument::notSeen(kernel + " in " + known.name() +
                          ": its calls are bound inside the library (static, hidden or -Bsymbolic)");
    }
    if (kernels.empty() && missing.empty() && !known.hasSource() && hasModel()) {
      instrument::notSeen("kernels in " + known.name() +
                          ": their calls are bound inside the library");
    }
    if (!kernels.empty() && known.hasSource() && hasModel()) {
      instrument::event("graph", "{\"graph\": " + jsonText(known.name()) +
                                     ", \"kernels\": " + std::to_string(known.calls(true)) +
                                     ", \"extern_kernels\": " + std::to_string(known.calls(false)) +
                                     ", \"language\": \"C++\"}");
    }
  }

  bool hasModel() const {
    void* const handle = dlopen(object_.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) return false;
    const bool has = dlsym(handle, std::string(kRun).c_str()) != nullptr;
    dlclose(handle);
    return has;
  }

  LoadedObject& object_;
  const bool isTold_;
};

void scan(std::string_view told) {
  const std::lock_guard guard(taps().mutex);
  forEachObject(wanted, [&](LoadedObject& object) {
    if (!isOurs(object.path)) ObjectTaps(object, !told.empty() && object.path == told).apply();
  });
}

/// A function of a model that libtorch asks for by name: caught on the way to it.
void* runEntry(void* handle, const char* name) {
  void* const function = ulpscope_real_dlsym(handle, name);
  if (function == nullptr) return nullptr;
  static auto* const mutex = new std::mutex;
  static auto* const entries = new std::unordered_map<void*, void*>;
  const std::lock_guard guard(*mutex);
  void*& entry = (*entries)[function];
  if (entry == nullptr) {
    Dl_info info{};
    std::string model = "model";
    // .../data/aotinductor/<model>/<hash>.so
    if (dladdr(function, &info) != 0 && info.dli_fname != nullptr) {
      const std::string_view path = info.dli_fname;
      const size_t slash = path.rfind('/');
      if (slash != std::string_view::npos) model = fileOf(path.substr(0, slash));
    }
    auto tap = runTap(function, model);
    entry = makeEntry(*tap);
    if (entry != nullptr) (void)tap.release();
  }
  return entry;
}

}  // namespace

void installTaps() noexcept {
  static std::once_flag once;
  try {
    std::call_once(once, [] {
      *reinterpret_cast<void**>(&ulpscope_real_dlsym) = reinterpret_cast<void*>(&dlsym);
    });
  } catch (...) {
  }
  tapLoaded();
}

void tapLoaded(std::string_view path, std::string_view record) noexcept {
  try {
    if (!path.empty()) {
      const std::lock_guard guard(taps().mutex);
      taps().records[std::string(path)] = record;
    }
    scan(path);
  } catch (const std::exception& error) {
    say(std::string("kernels that are called from C++ could not be tapped: ") + error.what());
  } catch (...) {
    say("kernels that are called from C++ could not be tapped");
  }
}

}  // namespace ulpscope::native

/// Asked by everybody who calls dlsym: what to give instead, or null.
void* ulpscope_symbol_asked(void* handle, const char* name) {
  using namespace ulpscope::native;
  if (name == nullptr || std::string_view(name).substr(0, 11) != "AOTInductor") return nullptr;
  // The first name that libtorch asks a model for; whatever came with it is loaded now.
  if (std::string_view(name).starts_with("AOTInductorModelContainerCreate")) tapLoaded();
  if (!isRun(name) || handle == RTLD_NEXT || handle == RTLD_DEFAULT) return nullptr;
  try {
    return runEntry(handle, name);
  } catch (...) {
    return nullptr;
  }
}
