#include "diff/expected.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "diff/environment.h"

namespace ulpscope {
namespace {

// Settings that can change the bits of an op that was not compiled.
constexpr std::array<std::string_view, 12> kNumeric = {
    "torch.version", "torch.git_version", "torch.compile", "cpu.capability", "threads.intra_op",
    "mkldnn.enabled", "mkldnn.version", "mkl.version", "deterministic_algorithms", "flush_denormal",
    "float32_matmul_precision", "default_dtype",
};

/// The one numeric setting that differs; an empty key where none or several do.
EnvironmentDifference onlySetting(const AlignedSide& a, const AlignedSide& b) {
  EnvironmentDifference only;
  for (EnvironmentDifference& difference :
       compareEnvironments(a.index.reader().environment(), b.index.reader().environment())) {
    const std::string_view key = difference.key;
    const bool numeric = std::find(kNumeric.begin(), kNumeric.end(), key) != kNumeric.end() ||
                         key.ends_with("fp32_precision") || key.starts_with("autocast");
    if (!numeric) continue;
    if (!only.key.empty()) return {};
    only = std::move(difference);
  }
  return only;
}

/// A kernel that also holds a cast to a narrower type, and whose value differs by no more than that
/// cast rounds.
std::string ofElidedCast(const AlignedSide& side, std::span<const uint32_t> kernels,
                         const AlignedSide& eager, std::span<const uint32_t> ops, float error) {
  const auto elides = [](const KeyValue& entry) {
    return entry.key == "inductor.emulate_precision_casts" && entry.value == "False";
  };
  const std::vector<KeyValue>& settings = side.index.reader().environment();
  if (std::none_of(settings.begin(), settings.end(), elides)) return {};
  const bool casts = std::any_of(kernels.begin(), kernels.end(), [&](uint32_t member) {
    const Op& op = side.index.ops()[member];
    const Provenance& from = side.index.reader().provenance(op.provenance);
    return op.kind == OpKind::kernel &&
           std::any_of(from.sources.begin(), from.sources.end(), [](const SourceOp& source) {
             return baseName(source.op) == "aten::_to_copy";
           });
  });
  if (!casts) return {};
  for (const uint32_t member : ops) {
    const Op& op = eager.index.ops()[member];
    if (baseName(eager.index.schema(op).name) != "aten::_to_copy") continue;
    for (const Operand& operand : eager.index.operandsOf(op)) {
      const DTypeInfo& type = info(eager.index.reader().type(operand.type).dtype);
      const bool narrow = type.kind == NumberKind::floating && type.significandBits > 0 &&
                          type.significandBits < 24;
      if (operand.role != Role::output || !narrow) continue;
      if (!(error <= std::ldexp(1.0f, 1 - type.significandBits))) continue;
      return "Expected: inside the kernel the value stays wider where eager code rounds it to " +
             std::string(type.name) +
             "; torch._inductor.config.emulate_precision_casts = True rounds as eager does.";
    }
  }
  return {};
}

}  // namespace

ExpectedReasons::ExpectedReasons(const AlignedSide& a, const AlignedSide& b, const Pairing& pairing)
    : a_(a), b_(b), pairing_(pairing), setting_(onlySetting(a, b)) {}

std::string ExpectedReasons::ofSetting(const OpFacts& facts) const {
  const std::string values = setting_.a + " | " + setting_.b;
  if (setting_.a.empty() || setting_.b.empty() || facts.movesData) return {};
  if (setting_.key == "threads.intra_op" && (facts.reduces || facts.contracts)) {
    return "Expected: the runs used other thread counts (" + values + "), which split such a sum "
           "otherwise; torch.set_num_threads with one number for both cures it.";
  }
  if (setting_.key == "cpu.capability") {
    return "Expected: the runs used other CPU instructions (" + values + "), which round otherwise; "
           "ATEN_CPU_CAPABILITY with one value for both cures it.";
  }
  if (setting_.key == "mkldnn.enabled" && facts.contracts) {
    return "Expected: one run used oneDNN and the other did not (" + values + "), whose sums have another "
           "order; torch.backends.mkldnn.flags(enabled=...) with one value for both cures it.";
  }
  if (setting_.key == "deterministic_algorithms") {
    return "Expected: one run used deterministic algorithms and the other did not; "
           "torch.use_deterministic_algorithms with one value for both cures it.";
  }
  return {};
}

std::string ExpectedReasons::of(const Pair& pair) const {
  if (pair.label != Label::origin || pair.countA == 0 || pair.countB == 0) return {};
  const std::span<const uint32_t> as{pairing_.membersA.data() + pair.firstA, pair.countA};
  const std::span<const uint32_t> bs{pairing_.membersB.data() + pair.firstB, pair.countB};
  if (pair.difference == Difference::numeric || pair.difference == Difference::rounding) {
    if (std::string reason = ofElidedCast(b_, bs, a_, as, pair.error); !reason.empty()) return reason;
    if (std::string reason = ofElidedCast(a_, as, b_, bs, pair.error); !reason.empty()) return reason;
  }
  const bool small =
      pair.difference == Difference::rounding || pair.difference == Difference::bitwise;
  if (!small || as.size() != 1 || bs.size() != 1) return {};
  const Op& op = a_.index.ops()[as.front()];
  if (op.kind != OpKind::op || a_.index.variant(op) != b_.index.variant(b_.index.ops()[bs.front()])) {
    return {};
  }
  return ofSetting(a_.index.facts(op));
}

}  // namespace ulpscope
