// What was true of the process when recording began: settings that change numbers, and who ran what.

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "dispatch_hook/json_text.h"
#include "dispatch_hook/session.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

extern char** environ;

namespace ulpscope {

namespace {

std::string yes(bool value) { return value ? "True" : "False"; }

bool listed(std::string_view name) {
  for (const std::string_view exact :
       {"ATEN_CPU_CAPABILITY", "CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES", "RANK",
        "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "PYTHONHASHSEED", "NVIDIA_TF32_OVERRIDE"}) {
    if (name == exact) return true;
  }
  for (const std::string_view prefix :
       {"OMP_", "GOMP_", "KMP_", "MKL_", "MKLDNN_", "DNNL_", "ONEDNN_", "OPENBLAS_", "PYTORCH_",
        "TORCH_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "AOT_"}) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

/// The thread's own setting, as torch.set_flush_denormal leaves it.
bool flushesDenormals() {
#if defined(__SSE__)
  return (_mm_getcsr() & 0x8000u) != 0;
#else
  return false;
#endif
}

std::string matmulPrecision(const at::Context& context) {
  switch (context.float32MatmulPrecision()) {
    case at::Float32MatmulPrecision::HIGHEST:
      return "highest";
    case at::Float32MatmulPrecision::HIGH:
      return "high";
    case at::Float32MatmulPrecision::MEDIUM:
      return "medium";
  }
  return "unknown";
}

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string commandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string json = "[";
  std::string argument;
  while (std::getline(file, argument, '\0')) {
    json += (json.size() > 1 ? ", " : "") + jsonText(argument);
  }
  return json + "]";
}

}  // namespace

std::vector<KeyValue> changeableSettings() {
  const at::Context& context = at::globalContext();
  return {
      {"threads.intra_op", std::to_string(at::get_num_threads())},
      {"threads.inter_op", std::to_string(at::get_num_interop_threads())},
      {"mkldnn.enabled", yes(context.userEnabledMkldnn())},
      {"deterministic_algorithms", yes(context.deterministicAlgorithms())},
      {"deterministic_fill_uninitialized_memory",
       yes(context.deterministicFillUninitializedMemory())},
      {"flush_denormal", yes(flushesDenormals())},
      {"float32_matmul_precision", matmulPrecision(context)},
      {"default_dtype", std::string(info(DType(c10::get_default_dtype_as_scalartype())).name)},
  };
}

void recordEnvironment(Writer& writer) {
  writer.environment("torch.version", ULPSCOPE_TORCH_VERSION);
  writer.environment("torch.config", at::show_config());
  writer.environment("cpu.capability", at::get_cpu_capability());
  writer.environment("mkl.version", firstLine(at::get_mkl_version()));
  writer.environment("mkldnn.version", firstLine(at::get_mkldnn_version()));
  for (const KeyValue& each : changeableSettings()) writer.environment(each.key, each.value);
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const char* equals = std::strchr(*each, '=');
    if (equals == nullptr) continue;
    const std::string_view name(*each, size_t(equals - *each));
    if (listed(name)) writer.environment("env." + std::string(name), equals + 1);
  }
  writer.meta("command", commandLine());
  writer.meta("pid", std::to_string(getpid()));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  writer.meta("start_unix_ms",
              std::to_string(
                  std::chrono::duration_cast<std::chrono::milliseconds>(now).count()));
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    std::string key = name;
    for (char& c : key) c = char(std::tolower(static_cast<unsigned char>(c)));
    writer.meta(key, value);
  }
}

}  // namespace ulpscope
