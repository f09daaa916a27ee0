#include "dispatch_hook/schema_info.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "dispatch_hook/value_capture.h"

namespace ulpscope {

namespace {

using c10::DispatchKey;

/// Arguments written whole, whatever they held: their content before is not an input.
constexpr std::array<std::string_view, 15> kOverwriting{
    "aten::copy_",       "aten::fill_",          "aten::zero_",
    "aten::normal_",     "aten::uniform_",       "aten::random_",
    "aten::geometric_",  "aten::exponential_",   "aten::log_normal_",
    "aten::cauchy_",     "aten::bernoulli_",     "aten::eye_",
    "aten::_foreach_copy_", "aten::_foreach_zero_", "aten::_copy_from_and_resize"};

/// Arguments of which sizes, strides or memory change, and not one element.
constexpr std::array<std::string_view, 11> kReshaping{
    "aten::detach_",   "aten::squeeze_",  "aten::unsqueeze_",  "aten::transpose_",
    "aten::t_",        "aten::swapaxes_", "aten::swapdims_",   "aten::as_strided_",
    "aten::set_",      "aten::rename_",   "aten::requires_grad_"};

/// Operators that write arguments which their schema calls read-only: running statistics, and only
/// in training where `training` is the index of that flag.
struct Undeclared {
  std::string_view name;
  std::string_view argument;
  int training;
};
constexpr std::array<Undeclared, 12> kUndeclared{{
    {"aten::native_batch_norm", "running_mean", 5},
    {"aten::native_batch_norm", "running_var", 5},
    {"aten::cudnn_batch_norm", "running_mean", 5},
    {"aten::cudnn_batch_norm", "running_var", 5},
    {"aten::miopen_batch_norm", "running_mean", 5},
    {"aten::miopen_batch_norm", "running_var", 5},
    {"aten::batch_norm_update_stats", "running_mean", -1},
    {"aten::batch_norm_update_stats", "running_var", -1},
    {"aten::batch_norm_gather_stats", "running_mean", -1},
    {"aten::batch_norm_gather_stats", "running_var", -1},
    {"aten::batch_norm_gather_stats_with_counts", "running_mean", -1},
    {"aten::batch_norm_gather_stats_with_counts", "running_var", -1},
}};

bool startsWith(const std::string& text, std::string_view head) {
  return text.compare(0, head.size(), head) == 0;
}

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

IntegerMeaning meaningOf(const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    return meaningOf(optional->getElementType());
  }
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return IntegerMeaning::dtype;
    case c10::TypeKind::LayoutType:
      return IntegerMeaning::layout;
    case c10::TypeKind::MemoryFormatType:
      return IntegerMeaning::memoryFormat;
    default:
      return IntegerMeaning::number;
  }
}

/// The type inside an optional.
c10::TypePtr elementOf(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

std::unique_ptr<SchemaInfo> describe(const c10::OperatorHandle& op) {
  auto info = std::make_unique<SchemaInfo>();
  const c10::FunctionSchema& schema = op.schema();
  info->name = schema.name();
  info->schema.name = schema.name();
  info->schema.overload = schema.overload_name();
  const std::string& name = info->name;
  const bool composite = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
  // A dense kernel beside the composite one (silu_backward, mish_backward) is the one that runs.
  const bool dense = op.hasKernelForAnyDispatchKey(c10::DispatchKeySet(
      {DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::XPU, DispatchKey::MPS}));
  info->descend = (composite && !dense) || startsWith(name, "profiler::");
  info->nestedKernels = composite && op.hasKernelForAnyDispatchKey(c10::DispatchKeySet(
                                         {DispatchKey::NestedTensorCPU, DispatchKey::SparseCPU,
                                          DispatchKey::SparseCsrCPU, DispatchKey::MkldnnCPU}));
  info->collective = startsWith(name, "c10d::") || startsWith(name, "_c10d_functional::") ||
                     startsWith(name, "_c10d_functional_autograd::");
  info->asynchronous = info->collective && name.find("wait_tensor") == std::string::npos;
  info->makesEmpty = startsWith(name, "aten::empty") || startsWith(name, "aten::new_empty") ||
                     startsWith(name, "aten::_empty") || startsWith(name, "aten::resize");
  info->viewsInside = !startsWith(name, "aten::as_strided") && !startsWith(name, "aten::set_");
  const bool overwriting = contains(kOverwriting, name);
  const bool reshaping = contains(kReshaping, name);
  for (const c10::Argument& argument : schema.arguments()) {
    info->schema.arguments.push_back(argument.name());
    ArgumentUse use = ArgumentUse::read;
    if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) {
      use = argument.is_out() || overwriting ? ArgumentUse::overwrite
            : reshaping                      ? ArgumentUse::reshaped
                                             : ArgumentUse::readWrite;
      info->writes = info->writes || !reshaping;
    }
    for (const Undeclared& undeclared : kUndeclared) {
      if (undeclared.name == name && undeclared.argument == argument.name() &&
          use == ArgumentUse::read) {
        use = undeclared.training < 0 ? ArgumentUse::readWrite : ArgumentUse::readWriteInTraining;
        info->trainingFlag = undeclared.training;
        info->writes = true;
      }
    }
    info->arguments.push_back(use);
    info->meanings.push_back(info->collective && argument.name() == "group_name"
                                 ? IntegerMeaning::processGroup
                                 : meaningOf(argument.real_type()));
    info->types.push_back(elementOf(argument.type()));
  }
  for (const c10::Argument& result : schema.returns()) {
    info->schema.returns.push_back(result.name());
    info->returnsWritten.push_back(result.alias_info() != nullptr &&
                                   result.alias_info()->isWrite());
  }
  info->returns = schema.returns().size();
  info->makesTensors =
      info->writes || std::any_of(schema.returns().begin(), schema.returns().end(),
                                  [](const c10::Argument& result) {
                                    return result.type()->str().find("Tensor") != std::string::npos;
                                  });
  return info;
}

/// Counts operators that went away, whose addresses may come back as others.
std::atomic<uint64_t> deregistered{0};

class Listener : public c10::OpRegistrationListener {
 public:
  void onOperatorRegistered(const c10::OperatorHandle&) override {}
  void onOperatorDeregistered(const c10::OperatorHandle&) override {
    deregistered.fetch_add(1, std::memory_order_release);
  }
};

struct AllInfos {
  AllInfos() {
    // Both live until the process ends; the dispatcher outlives them.
    auto* handle = new c10::RegistrationHandleRAII(
        c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>()));
    (void)handle;
  }
  std::mutex mutex;
  std::unordered_map<c10::OperatorName, std::unique_ptr<SchemaInfo>> infos;
  uint64_t epoch = 0;
  std::vector<std::unique_ptr<SchemaInfo>> retired;  // an op in flight may still use them
};

AllInfos& allInfos() {
  static AllInfos* const all = new AllInfos;
  return *all;
}

struct CacheLine {
  const char* name = nullptr;
  const char* overload = nullptr;
  const SchemaInfo* info = nullptr;
};

}  // namespace

struct SchemaCache {
  static constexpr size_t kLines = 1024;
  uint64_t epoch = 0;
  std::array<CacheLine, kLines> lines;
};

namespace {

const SchemaInfo* lookUp(const c10::OperatorName& name, uint64_t epoch) {
  AllInfos& all = allInfos();
  const std::lock_guard guard(all.mutex);
  if (all.epoch != epoch) {
    for (auto& [key, info] : all.infos) all.retired.push_back(std::move(info));
    all.infos.clear();
    all.epoch = epoch;
  }
  const auto found = all.infos.find(name);
  if (found != all.infos.end()) return found->second.get();
  const std::optional<c10::OperatorHandle> op = c10::Dispatcher::singleton().findSchema(name);
  if (!op) return nullptr;
  return all.infos.emplace(name, describe(*op)).first->second.get();
}

}  // namespace

SchemaId SchemaInfo::id(Session& session) const {
  const uint64_t known = interned_.load(std::memory_order_relaxed);
  if (known >> 32 == (session.generation & 0xFFFFFFFFu)) return SchemaId{uint32_t(known)};
  Writer* writer = session.writer();
  if (writer == nullptr) return {};
  const SchemaId fresh = writer->schema(schema);
  session.values().note(fresh, schema);
  interned_.store(session.generation << 32 | fresh.value, std::memory_order_relaxed);
  return fresh;
}

bool SchemaInfo::wanted(Session& session) const {
  if (!session.filtered) return true;
  const uint64_t known = filter_.load(std::memory_order_relaxed);
  if (known >> 1 == session.generation) return (known & 1) != 0;
  const bool fresh = session.wanted(name);
  filter_.store(session.generation << 1 | uint64_t(fresh), std::memory_order_relaxed);
  return fresh;
}

const SchemaInfo* schemaInfo(const c10::OperatorHandle& op) {
  return lookUp(op.operator_name(), deregistered.load(std::memory_order_acquire));
}

const SchemaInfo* schemaInfo(ThreadState& thread, const at::RecordFunction& function) {
  // A schema's strings stay where they are while it is registered; a record that is no dispatcher
  // call has a name elsewhere in memory.
  const char* name = function.name();
  const char* overload = function.overload_name();
  if (thread.schemas == nullptr) thread.schemas = std::make_shared<SchemaCache>();
  SchemaCache& mine = *thread.schemas;
  const uint64_t epoch = deregistered.load(std::memory_order_acquire);
  if (mine.epoch != epoch) {
    mine.lines.fill({});
    mine.epoch = epoch;
  }
  const uint64_t bits = reinterpret_cast<uintptr_t>(name) * 0x9E3779B97F4A7C15u;
  CacheLine& line = mine.lines[bits >> 54];
  if (line.name == name && line.overload == overload && line.info != nullptr) return line.info;
  const std::optional<c10::OperatorName> operatorName = function.operator_name();
  if (!operatorName) return nullptr;
  const SchemaInfo* info = lookUp(*operatorName, epoch);
  if (info != nullptr) line = {name, overload, info};
  return info;
}

}  // namespace ulpscope
