#include "dispatch_hook/native/kernel_call.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "dispatch_hook/instrument.h"
#include "dispatch_hook/json_text.h"
#include "dispatch_hook/native/shim_op.h"
#include "dispatch_hook/native/tensor_pointers.h"
#include "dispatch_hook/session.h"
#include "store/scalars.h"

namespace ulpscope::native {

namespace {

using instrument::Access;
using instrument::KernelOperand;

/// By the address where the call returns to. Never destroyed; sites are never taken away, for a
/// thread may be using one.
struct Sites {
  std::shared_mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<CallSite>> byPlace;
  std::vector<std::unique_ptr<CallSite>> retired;
};
Sites& sites() {
  static auto* const instance = new Sites;
  return *instance;
}

const CallSite* siteAt(const void* place) {
  Sites& all = sites();
  const std::shared_lock lock(all.mutex);
  const auto found = all.byPlace.find(place);
  return found == all.byPlace.end() ? nullptr : found->second.get();
}

/// Tensors that others own, for the time of a call: not one reference is counted.
class Borrowed {
 public:
  explicit Borrowed(size_t count) { tensors_.reserve(count); }
  ~Borrowed() {
    for (at::Tensor& tensor : tensors_) (void)tensor.unsafeReleaseTensorImpl();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  /// Not more often than `count`.
  const at::Tensor* add(c10::TensorImpl* tensor) {
    using Pointer = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    return &tensors_.emplace_back(Pointer::reclaim(tensor));
  }

 private:
  std::vector<at::Tensor> tensors_;
};

struct KernelTap : Tap {
  Schema schema;
  Provenance anonymous;
  KernelSignature signature;
  mutable std::mutex ids;
  mutable InternedId<SchemaId> schemaId;
  mutable InternedId<ProvenanceId> anonymousId;
  mutable std::atomic<bool> complained{false};
};

constexpr size_t kWordsOfUnknown = 64;

int64_t integerOf(const KernelParameter& parameter, uint64_t bits) {
  const unsigned unused = 64 - 8 * parameter.bytes;
  return parameter.isSigned ? int64_t(bits << unused) >> unused : int64_t(bits << unused >> unused);
}

struct KernelArguments {
  Borrowed tensors;
  std::vector<KernelOperand> operands;
  std::vector<Scalar> scalars;

  KernelArguments(const KernelTap& tap, const CallSite* site, const CaughtCall& call)
      : tensors(tap.signature.parameters.size()) {
    if (!tap.signature.complete) return;
    Arguments arguments(call);
    ScalarPacker packed;
    for (size_t i = 0; i < tap.signature.parameters.size(); ++i) {
      const KernelParameter& parameter = tap.signature.parameters[i];
      const auto arg = int16_t(i);
      switch (parameter.kind) {
        case KernelParameter::Kind::pointer:
          pointer(tap, site, parameter, arg, arguments.pointer<const void>());
          break;
        case KernelParameter::Kind::integer:
          if (parameter.isBool) {
            packed.boolean(arg, (arguments.integer() & 0xFF) != 0);
          } else {
            packed.integer(arg, integerOf(parameter, arguments.integer()));
          }
          break;
        case KernelParameter::Kind::float64:
          packed.floating(arg, arguments.float64());
          break;
        case KernelParameter::Kind::float32:
          packed.floating(arg, double(arguments.float32()));
          break;
      }
    }
    scalars = unpackScalars(packed.bytes());
  }

 private:
  void pointer(const KernelTap& tap, const CallSite* site, const KernelParameter& parameter,
               int16_t arg, const void* data) {
    if (data == nullptr) return;  // an empty tensor
    c10::TensorImpl* tensor = tensorAt(data);
    if (tensor == nullptr) {
      if (!tap.complained.exchange(true)) {
        instrument::event("message",
                          "{\"text\": " + jsonText(tap.anonymous.kernel + ": the tensor of " +
                                                   parameter.name + " is not known") + "}");
      }
      return;
    }
    KernelOperand& operand = operands.emplace_back();
    operand.tensor = tensors.add(tensor);
    operand.arg = arg;
    operand.access = parameter.isConst()                        ? Access::read
                     : parameter.name.starts_with("in_out_ptr") ? Access::readWrite
                                                                : Access::write;
    const auto i = size_t(arg);
    if (site != nullptr && i < site->unwritten.size()) {
      operand.uninitialised = site->uninitialised[i];
      if (site->unwritten[i]) operand.access = Access::read;
    }
  }
};

void onKernel(const Tap& base, const CaughtCall& call) {
  const auto& tap = static_cast<const KernelTap&>(base);
  const size_t words =
      tap.signature.complete ? tap.signature.parameters.size() : kWordsOfUnknown;
  const uint64_t generation = instrument::generation();
  if (generation == 0) {
    forgetRecentPointers();
    return call.forward(words);
  }
  std::optional<KernelArguments> arguments;
  SchemaId schema;
  ProvenanceId provenance;
  try {
    const CallSite* site = siteAt(call.returnAddress);
    if (site != nullptr) provenance = site->id();
    const std::lock_guard guard(tap.ids);
    schema = tap.schemaId.get(generation, [&] { return instrument::schema(tap.schema); });
    if (site == nullptr) {
      provenance = tap.anonymousId.get(generation,
                                       [&] { return instrument::provenance(tap.anonymous); });
    }
    arguments.emplace(tap, site, call);
  } catch (...) {
    forgetRecentPointers();
    return call.forward(words);
  }
  forgetRecentPointers();
  instrument::Call recorded(OpKind::kernel, schema, provenance, arguments->operands,
                            arguments->scalars);
  call.forward(words);
  recorded.finish();
}

struct ShimTap : Tap {
  const ShimOp* op = nullptr;
};

constexpr int32_t kSuccess = 0;  // AOTI_TORCH_SUCCESS

void onShim(const Tap& base, const CaughtCall& call) {
  const ShimOp& op = *static_cast<const ShimTap&>(base).op;
  const size_t words = stackWords(op);
  Session* session = current();
  if (session == nullptr) return call.forward(words);
  ShimCall arguments;
  SchemaId schema;
  ProvenanceId provenance;
  try {
    if (const CallSite* site = siteAt(call.returnAddress)) provenance = site->id();
    schema = op.info->id(*session);
    arguments = readArguments(op, call);
  } catch (...) {
    return call.forward(words);
  }
  instrument::Call recorded(OpKind::op, schema, provenance, arguments.operands, arguments.scalars);
  call.forward(words);
  if (int32_t(call.registers->result[0]) != kSuccess) return;
  try {
    std::vector<KernelOperand> results;
    for (const auto& [tensor, arg] : arguments.results) {
      if (tensor == nullptr || *tensor == nullptr) continue;
      KernelOperand& operand = results.emplace_back();
      operand.tensor = *tensor;
      operand.access = Access::write;
      operand.arg = arg;
    }
    recorded.finish(results);
  } catch (...) {
    recorded.finish();
  }
}

/// AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** data)
void onPointer(const Tap&, const CaughtCall& call) {
  call.forward(0);
  if (int32_t(call.registers->result[0]) != kSuccess) return;
  Arguments arguments(call);
  const at::Tensor* tensor = arguments.pointer<const at::Tensor>();
  void* const* data = arguments.pointer<void*>();
  if (tensor != nullptr && data != nullptr) {
    noteDataPointer(*data, tensor->unsafeGetTensorImpl());
  }
}

struct RunTap : Tap {
  std::string model;
  Schema schema;
  mutable std::mutex ids;
  mutable InternedId<SchemaId> schemaId;
};

class Region {
 public:
  explicit Region(const std::string& name) {
    instrument::pushRegion(RegionKind::compiled, name, "aotinductor");
  }
  ~Region() { instrument::popRegion(); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

std::vector<KernelOperand> operandsOf(at::Tensor* const* tensors, size_t count, Access access) {
  std::vector<KernelOperand> operands;
  for (size_t i = 0; tensors != nullptr && i < count; ++i) {
    if (tensors[i] == nullptr) continue;
    KernelOperand& operand = operands.emplace_back();
    operand.tensor = tensors[i];
    operand.access = access;
    operand.arg = int16_t(i);
  }
  return operands;
}

/// AOTInductorModelContainerRun(container, inputs, count, outputs, count, stream, proxy executor)
void onRun(const Tap& base, const CaughtCall& call) {
  constexpr size_t kWords = 1;
  const auto& tap = static_cast<const RunTap&>(base);
  const uint64_t generation = instrument::generation();
  if (generation == 0) return call.forward(kWords);
  Arguments arguments(call);
  arguments.integer();
  at::Tensor* const* inputs = arguments.pointer<at::Tensor* const>();
  const size_t inputCount = arguments.integer();
  at::Tensor* const* outputs = arguments.pointer<at::Tensor* const>();
  const size_t outputCount = arguments.integer();
  std::vector<KernelOperand> operands;
  SchemaId schema;
  try {
    const std::lock_guard guard(tap.ids);
    schema = tap.schemaId.get(generation, [&] { return instrument::schema(tap.schema); });
    operands = operandsOf(inputs, inputCount, Access::read);
  } catch (...) {
    return call.forward(kWords);
  }
  const Region region(tap.model);
  instrument::Call recorded(OpKind::compiled, schema, {}, operands, {});
  call.forward(kWords);
  if (int32_t(call.registers->result[0]) != kSuccess) return;
  try {
    recorded.finish(operandsOf(outputs, outputCount, Access::write));
  } catch (...) {
    recorded.finish();
  }
}

template <class T>
std::unique_ptr<T> make(void* function, void (*handle)(const Tap&, const CaughtCall&)) {
  auto tap = std::make_unique<T>();
  tap->function = function;
  tap->handle = handle;
  return tap;
}

}  // namespace

std::unique_ptr<Tap> kernelTap(void* function, Provenance anonymous,
                               const KernelSignature* signature) {
  auto tap = make<KernelTap>(function, &onKernel);
  tap->schema.name = "inductor::" + anonymous.kernel;
  tap->anonymous = std::move(anonymous);
  if (signature != nullptr) {
    tap->signature = *signature;
  } else {
    tap->signature.complete = false;
  }
  for (const KernelParameter& parameter : tap->signature.parameters) {
    tap->schema.arguments.push_back(parameter.name);
  }
  return tap;
}

std::unique_ptr<Tap> shimTap(void* function, const std::string& name) {
  const ShimOp* op = shimOp(name);
  if (op == nullptr) return nullptr;
  auto tap = make<ShimTap>(function, &onShim);
  tap->op = op;
  return tap;
}

std::unique_ptr<Tap> pointerTap(void* function) { return make<Tap>(function, &onPointer); }

std::unique_ptr<Tap> runTap(void* function, const std::string& model) {
  auto tap = make<RunTap>(function, &onRun);
  tap->model = model;
  tap->schema.name = "inductor::graph";
  tap->schema.overload = "aot";
  return tap;
}

void addSite(const void* place, std::unique_ptr<CallSite> site) {
  Sites& all = sites();
  const std::unique_lock lock(all.mutex);
  std::unique_ptr<CallSite>& here = all.byPlace[place];
  // An address that an unloaded library had before.
  if (here != nullptr) all.retired.push_back(std::move(here));
  here = std::move(site);
}

}  // namespace ulpscope::native
