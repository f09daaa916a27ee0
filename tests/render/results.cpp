#include "tests/render/results.h"

namespace ulpscope::testing {
namespace {

Side side(const std::string& path, size_t ops) {
  Side side;
  side.path = path;
  side.ops.ops.resize(ops);
  side.complete = true;
  side.coverage.ops = ops;
  side.coverage.tensors = ops * 3;
  side.coverage.hashed = ops * 3;
  side.coverage.closureMatched = 10;
  return side;
}

/// Pairs op i of A with op i of B.
void pairAll(DiffResult& result, size_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    result.membersA.push_back(i);
    result.membersB.push_back(i);
    result.pairs.push_back({.firstA = i, .firstB = i, .countA = 1, .countB = 1, .method = Method::merkle});
  }
  result.counts.pairs = int64_t(count);
  result.counts.identical = int64_t(count);
}

}  // namespace

DiffResult identicalResult() {
  DiffResult result;
  result.a = side("a.ulps", 1200);
  result.b = side("b.ulps", 1200);
  pairAll(result, 1200);
  return result;
}

DiffResult numericResult() {
  DiffResult result;
  result.a = side("eager.ulps", 2000);
  result.b = side("compiled.ulps", 2000);
  result.b.kernels = 1;
  result.b.coverage.hashed -= 5;
  result.b.coverage.skipped = {{"uninitialised", 5}};
  pairAll(result, 2000);
  result.verdict = Verdict::numeric;
  result.environment = {{"torch.compile", "off", "inductor"}};
  result.pairs[7].method = Method::provenance;

  Origin first;
  first.pair = 7;
  first.op = "aten::native_layer_norm";
  first.ops = {"aten::embedding", "aten::add", "aten::native_layer_norm"};
  first.step = 0;
  first.phase = Phase::forward;
  first.module = "transformer.h.0.ln_1";
  first.moduleClass = "LayerNorm";
  const Stack stack = {
      {"/venv/lib/python3.11/site-packages/torch/nn/functional.py", 2900, "layer_norm"},
      {"/venv/lib/python3.11/site-packages/transformers/modeling_gpt2.py", 412, "forward"}};
  first.a = OriginSide{OpId{8}, "aten::native_layer_norm", "", stack};
  first.b = OriginSide{OpId{5}, "inductor::cpp_fused_0", "cpp_fused_0", {}};
  first.operandDType = DType::Float32;
  first.operandShape = {2, 64, 128};
  first.difference = Difference::rounding;
  first.relativeError = 2.1e-7;
  first.ulp = 1.1;
  first.confidence = 0.98;
  first.alignment = Method::provenance;
  first.inputs = 3;
  first.inputsIdentical = 3;
  first.explanation = "All inputs agree, the output does not.";

  Origin later = first;
  later.pair = 900;
  later.op = "aten::mm";
  later.ops = {"aten::mm"};
  later.step = 1;
  later.phase = Phase::backward;
  later.module = "lm_head";
  later.moduleClass = "Linear";
  later.a = OriginSide{OpId{900}, "aten::mm", "", {}};
  later.b = OriginSide{OpId{870}, "aten::mm", "", {}};
  later.share = 0.61;

  result.first = first;
  result.dominant = later;
  result.frontier = {first, later};
  result.counts = {.pairs = 2000, .identical = 1500, .origin = 5, .propagated = 485, .healed = 10};
  return result;
}

DiffResult structuralResult() {
  DiffResult result;
  result.a = side("a.ulps", 10);
  result.b = side("b.ulps", 9);
  pairAll(result, 9);
  result.membersA.push_back(9);
  result.pairs.push_back({.firstA = 9, .firstB = 9, .countA = 1, .countB = 0,
                          .label = Label::structural, .difference = Difference::missing});
  result.verdict = Verdict::structural;
  Origin first;
  first.pair = 9;
  first.label = Label::structural;
  first.op = "aten::native_dropout";
  first.ops = {"aten::native_dropout"};
  first.phase = Phase::forward;
  first.a = OriginSide{OpId{10}, "aten::native_dropout", "", {}};
  first.difference = Difference::missing;
  first.confidence = 0.9;
  first.explanation = "B has no such op.";
  result.first = first;
  result.frontier = {first};
  result.counts = {.pairs = 10, .identical = 9, .structural = 1};
  result.b.complete = false;
  return result;
}

DiffResult notComparableResult() {
  DiffResult result;
  result.a = side("a.ulps", 3);
  result.b = side("b.ulps", 4);
  result.verdict = Verdict::notComparable;
  result.notComparableReason = "the traces have no op in common";
  return result;
}

}  // namespace ulpscope::testing
