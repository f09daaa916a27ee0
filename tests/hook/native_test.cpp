// What stands between generated C++ code and the functions that it calls.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dispatch_hook/native/call_entry.h"
#include "dispatch_hook/native/generated_source.h"
#include "dispatch_hook/native/loaded_object.h"
#include "dispatch_hook/native/shim_op.h"
#include "dispatch_hook/native/site_record.h"
#include "dispatch_hook/native/source_dataflow.h"

namespace ulpscope::native {
namespace {

// --- calls --------------------------------------------------------------------------------------

struct Seen : Tap {
  size_t words = 0;
  mutable std::vector<std::string> arguments;
};

/// Ten integers, ten doubles and a float: more than there are registers.
double sumOf(int64_t a, double u, int64_t b, double v, int64_t c, double w, int64_t d, double x,
             int64_t e, double y, int64_t f, double z, int64_t g, double p, int64_t h, double q,
             int64_t i, double r, int64_t j, double s, float t) {
  return double(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j) + u +
         2 * v + 3 * w + 4 * x + 5 * y + 6 * z + 7 * p + 8 * q + 9 * r + 10 * s + double(t);
}

TEST(CallEntry, PassesAllArgumentsAndReadsThem) {
  static Seen tap;
  tap.function = reinterpret_cast<void*>(&sumOf);
  tap.handle = [](const Tap& base, const CaughtCall& call) {
    Arguments arguments(call);
    auto& into = static_cast<const Seen&>(base).arguments;
    into.clear();
    for (int i = 0; i < 10; ++i) {
      into.push_back(std::to_string(arguments.integer()));
      into.push_back(std::to_string(arguments.float64()));
    }
    into.push_back(std::to_string(arguments.float32()));
    call.forward(16);
  };
  void* const entry = makeEntry(tap);
  ASSERT_NE(entry, nullptr);
  const auto caught = reinterpret_cast<decltype(&sumOf)>(entry);
  const double bare = sumOf(1, .5, 2, 1.5, 3, 2.5, 4, 3.5, 5, 4.5, 6, 5.5, 7, 6.5, 8, 7.5, 9, 8.5,
                            10, 9.5, 10.5f);
  EXPECT_EQ(caught(1, .5, 2, 1.5, 3, 2.5, 4, 3.5, 5, 4.5, 6, 5.5, 7, 6.5, 8, 7.5, 9, 8.5, 10, 9.5,
                   10.5f),
            bare);
  ASSERT_EQ(tap.arguments.size(), 21u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(tap.arguments[size_t(2 * i)], std::to_string(i + 1));
    EXPECT_EQ(tap.arguments[size_t(2 * i) + 1], std::to_string(i + 0.5));
  }
  EXPECT_EQ(tap.arguments[20], std::to_string(10.5f));
}

TEST(CallEntry, ExceptionsPassAndAreSeen) {
  static bool unwound;
  static Tap tap;
  tap.function = reinterpret_cast<void*>(+[](int64_t code) {
    if (code != 0) throw std::runtime_error("kernel");
  });
  tap.handle = [](const Tap&, const CaughtCall& call) {
    struct Guard {
      ~Guard() { unwound = true; }
    } guard;
    call.forward(0);
  };
  const auto caught = reinterpret_cast<void (*)(int64_t)>(makeEntry(tap));
  unwound = false;
  EXPECT_THROW(caught(1), std::runtime_error);
  EXPECT_TRUE(unwound);
  EXPECT_NO_THROW(caught(0));
}

TEST(CallEntry, ManyTapsAndThreads) {
  // More than one page of entries, each its own.
  constexpr int kTaps = 1000;
  static auto* const taps = new std::vector<std::unique_ptr<Tap>>;
  std::vector<int (*)(int)> calls;
  for (int i = 0; i < kTaps; ++i) {
    auto& tap = taps->emplace_back(std::make_unique<Tap>());
    tap->function = reinterpret_cast<void*>(i % 2 == 0 ? +[](int x) { return x + 1; }
                                                       : +[](int x) { return x - 1; });
    tap->handle = [](const Tap&, const CaughtCall& call) { call.forward(0); };
    calls.push_back(reinterpret_cast<int (*)(int)>(makeEntry(*tap)));
    ASSERT_NE(calls.back(), nullptr);
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTaps; ++i) ASSERT_EQ(calls[size_t(i)](i), i % 2 == 0 ? i + 1 : i - 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --- the library that calls ---------------------------------------------------------------------

/// What a test says of tests/hook/programs/generated.cpp, as built in several ways.
struct Library {
  explicit Library(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    forEachObject([](std::string_view symbol) { return symbol.starts_with("cpp_fused_"); },
                  [&](LoadedObject& object) {
                    if (object.path == path) found = object;
                  });
  }
  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }
  void* handle;
  LoadedObject found;
};

TEST(LoadedObject, FindsSlotsAndTheCallsThroughThem) {
  const Library library(ULPSCOPE_GENERATED);
  ASSERT_NE(library.handle, nullptr) << dlerror();
  ASSERT_EQ(library.found.slots.size(), 2u);
  std::vector<Slot> slots = library.found.slots;
  std::ranges::sort(slots, {}, &Slot::symbol);
  EXPECT_EQ(slots[0].symbol, "cpp_fused_add_0");
  EXPECT_NE(slots[0].own, 0u);
  const auto calls = library.found.callsThrough(slots);
  EXPECT_EQ(calls[0].size(), 3u);
  EXPECT_EQ(calls[1].size(), 1u);
  for (const void* call : calls[0]) EXPECT_TRUE(library.found.holds(call));

  static std::vector<const void*> returns;
  static Tap tap;
  tap.function = reinterpret_cast<void*>(slots[0].own);
  tap.handle = [](const Tap&, const CaughtCall& call) {
    returns.push_back(call.returnAddress);
    call.forward(0);
  };
  ASSERT_TRUE(library.found.set(slots[0], makeEntry(tap)));
  float value = 1;
  reinterpret_cast<void (*)(float*)>(dlsym(library.handle, "run"))(&value);
  EXPECT_EQ(value, 8);  // (1 + 1 + 1) * 2 + 1 and one more
  EXPECT_EQ(returns, calls[0]);  // in the order of the source
}

TEST(LoadedObject, CallsThatAreBoundInsideHaveNoSlot) {
  const Library library(ULPSCOPE_GENERATED_BOUND);
  ASSERT_NE(library.handle, nullptr) << dlerror();
  EXPECT_TRUE(library.found.slots.empty());
}

// --- source text --------------------------------------------------------------------------------

constexpr char kWrapper[] = R"(
#include <torch/csrc/inductor/cpp_wrapper/cpu.h>
extern "C"  void  cpp_fused_add_native_layer_norm_0(float* in_out_ptr0,
                       const float* in_ptr0,
                       const int64_t ks0,
                       float* out_ptr1);
extern "C" void cpp_fused_gelu_1(float* in_out_ptr0);
extern "C" {
void not_a_kernel(int);
}
void inductor_entry_impl(
) {
    // [Provenance debug handles] cpp_fused_add_native_layer_norm_0:1
    cpp_fused_add_native_layer_norm_0((float*)(buf1.data_ptr()), (const float*)(arg0_1.data_ptr()), 2L*s0, (float*)(buf2.data_ptr()));
    // Topologically Sorted Source Nodes: [x], Original ATen: [aten.native_layer_norm, aten.add, aten.t, aten.addmm]
    // [Provenance debug handles] aoti_torch_cpu_addmm_out:2
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(buf3, w, wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf2, 2, int_array_6, int_array_7, 0L)), b, 1L, 1L));
    auto buf4 = std::move(buf1);  // reuse
    auto buf5 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf3, 2, a, b, 0L)); buf3.reset();  // reuse
    // [Provenance debug handles] cpp_fused_gelu_1:3
    cpp_fused_gelu_1((float*)(buf5.data_ptr()));
    output_handles[0] = buf5.release();
} // inductor_entry_impl
extern "C"  void  cpp_fused_add_native_layer_norm_0(float* in_out_ptr0,
                       const float* in_ptr0,
                       const int64_t ks0,
                       float* out_ptr1)
{
    auto out_ptr0 = in_out_ptr0;
    {
        out_ptr0[0] = in_ptr0[0];
    }
}
extern "C" void cpp_fused_gelu_1(float* in_out_ptr0)
{
    auto tmp0 = at::vec::Vectorized<float>::loadu(in_out_ptr0 + static_cast<int64_t>(x0));
    tmp0.store(in_out_ptr0 + static_cast<int64_t>(x0));
}
)";

TEST(GeneratedSource, KernelsAndCallsInOrder) {
  const GeneratedSource source(kWrapper);
  ASSERT_EQ(source.kernels().size(), 2u);
  const KernelSignature& first = source.kernels().at("cpp_fused_add_native_layer_norm_0");
  ASSERT_EQ(first.parameters.size(), 4u);
  EXPECT_TRUE(first.complete);
  EXPECT_TRUE(first.parameters[1].isConst());
  EXPECT_EQ(first.parameters[2].kind, KernelParameter::Kind::integer);
  EXPECT_EQ(first.parameters[3].type, "float*");
  std::vector<std::string> handles;
  for (const WrittenCall& call : source.calls()) handles.push_back(call.handle);
  EXPECT_EQ(handles, (std::vector<std::string>{"cpp_fused_add_native_layer_norm_0:1",
                                               "aoti_torch_cpu_addmm_out:2", "cpp_fused_gelu_1:3"}));
  EXPECT_EQ(source.calls()[0].buffers, (std::vector<std::string>{"buf1", "arg0_1", "", "buf2"}));
  EXPECT_EQ(source.calls()[1].buffers[2], "buf2");
  EXPECT_NE(source.definition("cpp_fused_gelu_1").find("loadu"), std::string_view::npos);
}

TEST(GeneratedSource, TypesThatAreNotKnown) {
  const KernelSignature known = parseParameters(
      "const bfloat16* __restrict__ a, const bool b, const double c, float d, const uint8_t e");
  ASSERT_TRUE(known.complete);
  EXPECT_TRUE(known.parameters[1].isBool);
  EXPECT_EQ(known.parameters[2].kind, KernelParameter::Kind::float64);
  EXPECT_EQ(known.parameters[3].kind, KernelParameter::Kind::float32);
  EXPECT_EQ(known.parameters[4].bytes, 1);
  EXPECT_FALSE(known.parameters[4].isSigned);
  EXPECT_FALSE(parseParameters("const float* a, std::array<int, 4> b").complete);
  EXPECT_TRUE(parseParameters("").parameters.empty());
}

TEST(SourceDataflow, WhatIsReadAndWhatIsNot) {
  const GeneratedSource source(kWrapper);
  const Definition definition = [&](const std::string& kernel) { return source.definition(kernel); };
  const WrittenCall& first = source.calls()[0];
  EXPECT_FALSE(isReadLater(source, first, "buf1", definition));
  EXPECT_TRUE(isReadLater(source, first, "buf2", definition));
  EXPECT_TRUE(isReadLater(source, source.calls()[1], "buf3", definition));
  EXPECT_TRUE(storesFirst(definition("cpp_fused_add_native_layer_norm_0"), "in_out_ptr0"));
  EXPECT_FALSE(storesFirst(definition("cpp_fused_gelu_1"), "in_out_ptr0"));

  SiteRecord site = siteFromName(first.function);
  readSite(source, first, source.kernels().at(first.function), definition, site);
  ASSERT_EQ(site.sources.size(), 2u);  // in the order of the comment, not of the alphabet
  EXPECT_EQ(site.sources[0].op, "aten::native_layer_norm");
  EXPECT_EQ(site.sources[1].op, "aten::add");
  EXPECT_EQ(site.uninitialised, std::vector<std::string>{"in_out_ptr0"});
  ASSERT_EQ(site.ties.size(), 2u);
  EXPECT_EQ(site.ties[0].first, "in_out_ptr0");
  EXPECT_EQ(site.ties[0].second.source, -1);
  EXPECT_EQ(site.ties[1].first, "out_ptr1");
  EXPECT_EQ(site.ties[1].second.source, 1);
}

TEST(SiteRecord, NamesOfKernels) {
  const auto ops = [](std::string_view kernel) {
    std::vector<std::string> names;
    for (const SourceOp& source : siteFromName(kernel).sources) names.push_back(source.op);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(ops("cpp_fused__to_copy_add_mul_3"),
            (Names{"aten::_to_copy", "aten::add", "aten::mul"}));
  EXPECT_EQ(ops("cpp_fused_native_layer_norm_native_layer_norm_backward_12"),
            (Names{"aten::native_layer_norm", "aten::native_layer_norm_backward"}));
  EXPECT_EQ(ops("cpp_fused_0"), Names{});
  EXPECT_EQ(ops("cpp_fused_my_own_op_0"), Names{});
  EXPECT_EQ(ops("triton_poi_fused_add_0"), Names{});
}

TEST(SiteRecord, RecordsThatCannotBeRead) {
  std::string why;
  EXPECT_TRUE(readSiteRecords("{", why).empty());
  EXPECT_NE(why.find("cannot be read"), std::string::npos);
  EXPECT_TRUE(readSiteRecords(R"({"format": 2, "sites": {}})", why).empty());
  EXPECT_NE(why.find("newer version"), std::string::npos);
  EXPECT_TRUE(readKernelInformation("[]").empty());
  EXPECT_TRUE(readKernelInformation(R"({"cpp_fused_add_0:1": 3})").empty());
}

TEST(SiteRecord, KernelInformationGivesLinesAndOrder) {
  const SiteRecords records = readKernelInformation(R"({"cpp_fused_add_native_layer_norm_1:5": {
      "stack_traces": ["File \"/m.py\", line 17, in forward\n  x", "File \"/m.py\", line 16, in forward"],
      "post_grad_nodes": ["var_mean_1"], "pre_grad_nodes": ["layer_norm_1", "add"]}})");
  const SiteRecord& site = records.at("cpp_fused_add_native_layer_norm_1:5");
  ASSERT_EQ(site.sources.size(), 2u);
  EXPECT_EQ(site.sources[0].op, "aten::add");
  EXPECT_EQ(site.sources[1].op, "aten::native_layer_norm");
  EXPECT_EQ(site.sources[1].stack, (Stack{{"/m.py", 17, "forward"}}));
}

// --- ops without the dispatcher -----------------------------------------------------------------

TEST(ShimOp, EveryFunctionOfTheHeadersHasItsOperator) {
  const std::vector<std::string> functions = shimFunctions();
  EXPECT_GT(functions.size(), 100u);
  std::vector<std::string> unknown, unclear;
  for (const std::string& function : functions) {
    const ShimOp* op = shimOp(function);
    if (op == nullptr) {
      unknown.push_back(function);
      continue;
    }
    for (const ShimParameter& parameter : op->parameters) {
      const bool companion = parameter.name.ends_with("_len_") || parameter.name.ends_with("index_");
      if (parameter.arg < 0 && !companion && !parameter.name.starts_with("ret")) {
        unclear.push_back(function + ": " + parameter.name);
      }
    }
  }
  EXPECT_EQ(unknown, (std::vector<std::string>{
                         // Collectives go to the dispatcher.
                         "aoti_torch_cpu__c10d_functional_all_reduce",
                         "aoti_torch_cpu__c10d_functional_all_reduce_",
                         "aoti_torch_cpu__c10d_functional_wait_tensor",
                         // These are made of ops that are seen by themselves.
                         "aoti_torch_cpu__fused_rms_norm", "aoti_torch_cpu_narrow",
                         "aoti_torch_cpu_pad", "aoti_torch_cpu_reshape",
                         "aoti_torch_cpu_to_sparse"}));
  for (const std::string& parameter : unclear) ADD_FAILURE() << "no argument: " << parameter;
}

}  // namespace
}  // namespace ulpscope::native
