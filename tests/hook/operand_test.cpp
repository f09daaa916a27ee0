// What is recorded of the tensors and scalars that go in and come out of an op.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/hook/recorded.h"

namespace ulpscope::testing {
namespace {

using Names = std::vector<std::string>;

/// The fingerprint's digest of a contiguous tensor, computed without the recorder.
Digest digestOf(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  return fingerprint({.data = plain.data_ptr(),
                      .dtype = DType(plain.scalar_type()),
                      .dim = int32_t(plain.dim()),
                      .sizes = plain.sizes().data()},
                     Level::digest)
      .digest;
}

TEST(Ops, CompositesShowTheOpsThatTheyAreMadeOf) {
  const at::Tensor a = torch::randn({3, 4}), b = torch::randn({4, 5});
  const Recorded run([&] { torch::relu(torch::matmul(a, b) + 1); });
  EXPECT_EQ(run.names(), (Names{"aten::mm", "aten::add.Scalar", "aten::relu"}));
}

TEST(Ops, WhatAnOpCallsIsHidden) {
  const at::Tensor x = torch::randn({1, 2, 8, 8}), w = torch::randn({3, 2, 3, 3});
  const Recorded run([&] { torch::conv2d(x, w); });
  EXPECT_EQ(run.names(), (Names{"aten::convolution"}));
}

TEST(Operands, InputsAndOutputsHaveTheFingerprintOfTheirContent) {
  const at::Tensor a = torch::randn({3, 4}), b = torch::randn({3, 4});
  at::Tensor sum;
  const Recorded run([&] { sum = a + b; });
  const Op& add = run.find("aten::add.Tensor");
  EXPECT_EQ(run.describe(add), (Names{"in0 f32[3, 4]", "in1 f32[3, 4]", "out0 f32[3, 4]"}));
  EXPECT_EQ(run.digest(run.operand(add, Role::input, 0)), digestOf(a));
  EXPECT_EQ(run.digest(run.operand(add, Role::input, 1)), digestOf(b));
  EXPECT_EQ(run.digest(run.operand(add, Role::output, 0)), digestOf(sum));
}

TEST(Operands, AWrittenArgumentIsRecordedBeforeAndAfter) {
  at::Tensor a = torch::ones({4});
  const at::Tensor before = a.clone(), b = torch::randn({4});
  const Recorded run([&] { a.add_(b); });
  const Op& add = run.find("aten::add_.Tensor");
  EXPECT_EQ(run.describe(add), (Names{"before0 f32[4]", "in1 f32[4]", "after0 f32[4]"}));
  EXPECT_EQ(run.digest(run.operand(add, Role::before, 0)), digestOf(before));
  EXPECT_EQ(run.digest(run.operand(add, Role::after, 0)), digestOf(a));
}

TEST(Operands, WhatIsOverwrittenHasNoBefore) {
  const at::Tensor a = torch::randn({4}), b = torch::randn({4});
  at::Tensor out = torch::zeros({4});
  const Recorded run([&] {
    at::add_out(out, a, b);
    out.fill_(2);
    out.copy_(a);
  });
  EXPECT_EQ(run.describe(run.find("aten::add.out")),
            (Names{"in0 f32[4]", "in1 f32[4]", "after3 f32[4]"}));
  EXPECT_EQ(run.describe(run.find("aten::fill_.Scalar")), (Names{"after0 f32[4]"}));
  EXPECT_EQ(run.describe(run.find("aten::copy_")), (Names{"in1 f32[4]", "after0 f32[4]"}));
}

TEST(Operands, ListsHaveAnOperandForEachItem) {
  const std::vector<at::Tensor> list{torch::ones({2}), torch::ones({3})};
  const Recorded run([&] {
    at::_foreach_add_(list, 1.0);
    at::cat(list);
  });
  EXPECT_EQ(run.describe(run.find("aten::_foreach_add_.Scalar")),
            (Names{"before0.0 f32[2]", "before0.1 f32[3]", "after0.0 f32[2]", "after0.1 f32[3]"}));
  EXPECT_EQ(run.describe(run.find("aten::cat")),
            (Names{"in0.0 f32[2]", "in0.1 f32[3]", "out0 f32[5]"}));
}

TEST(Operands, OptionalTensorsKeepTheirPlace) {
  const at::Tensor x = torch::randn({4, 5}), rows = torch::tensor({0, 2});
  const Recorded run([&] { x.index({torch::indexing::Slice(), rows}); });
  const Op& index = run.find("aten::index.Tensor");
  EXPECT_EQ(run.describe(index), (Names{"in0 f32[4, 5]", "in1.1 i64[2]", "out0 f32[4, 2]"}));
}

TEST(Operands, UndeclaredWritesOfRunningStatisticsAreWrites) {
  const at::Tensor x = torch::randn({4, 3, 5});
  const at::Tensor mean = torch::zeros({3}), var = torch::ones({3});
  const Recorded run([&] {
    at::batch_norm(x, {}, {}, mean, var, true, 0.1, 1e-5, false);
    at::batch_norm(x, {}, {}, mean, var, false, 0.1, 1e-5, false);
  });
  const Op& training = run.find("aten::native_batch_norm", 0);
  EXPECT_EQ(run.digest(run.operand(training, Role::after, 3)), digestOf(mean));
  const Op& evaluation = run.find("aten::native_batch_norm", 1);
  EXPECT_EQ(run.operand(evaluation, Role::input, 3).closure, Closure::matched);
  EXPECT_EQ(run.operand(evaluation, Role::input, 3).writer, training.id);
}

TEST(Operands, EmptyTensorsAreNotCompared) {
  at::Tensor x;
  const Recorded run([&] {
    x = torch::empty({8});
    x.t();
    x.add_(1);
    x.mul_(2);
  });
  EXPECT_EQ(run.describe(run.find("aten::empty.memory_format")),
            (Names{"out0 f32[8] uninitialised"}));
  EXPECT_EQ(run.describe(run.find("aten::t")),
            (Names{"in0 f32[8] uninitialised", "out0 f32[8] uninitialised"}));
  EXPECT_EQ(run.describe(run.find("aten::add_.Scalar")),
            (Names{"before0 f32[8] uninitialised", "after0 f32[8]"}));
  EXPECT_EQ(run.describe(run.find("aten::mul_.Scalar")), (Names{"before0 f32[8]", "after0 f32[8]"}));
}

TEST(Operands, AnEmptyTensorFilledByHandIsASource) {
  const Recorded run([&] {
    at::Tensor x = torch::empty({8});
    for (int i = 0; i < 8; ++i) x.data_ptr<float>()[i] = 0.7231f * float(i + 1);
    x.add(1);
  });
  const Op& add = run.find("aten::add.Scalar");
  EXPECT_EQ(run.describe(add), (Names{"in0 f32[8]", "out0 f32[8]"}));
  EXPECT_EQ(run.operand(add, Role::input, 0).closure, Closure::source);
}

TEST(Operands, FlagsTellParametersFromValues) {
  const at::Tensor w = torch::ones({2}, torch::requires_grad());
  const Recorded run([&] { (w * 2).exp(); });
  const Op& mul = run.find("aten::mul.Scalar");
  EXPECT_EQ(run.operand(mul, Role::input, 0).flags, kRequiresGrad | kParameter);
  EXPECT_EQ(run.operand(mul, Role::output, 0).flags, kRequiresGrad);
  EXPECT_EQ(run.operand(run.find("aten::exp"), Role::input, 0).flags, kRequiresGrad);
}

TEST(Operands, LazyConjugationAndNegationAreResolved) {
  const at::Tensor z = torch::randn({4}, torch::kComplexFloat);
  at::Tensor conj, imag;
  const Recorded run([&] {
    conj = z.conj();
    conj.sum();
    imag = at::imag(conj);
    imag.sum();
  });
  const Operand conjugate = run.operand(run.find("aten::sum", 0), Role::input, 0);
  EXPECT_TRUE(conjugate.flags & kConjugate);
  EXPECT_EQ(run.digest(conjugate), digestOf(conj.resolve_conj()));
  const Operand negative = run.operand(run.find("aten::sum", 1), Role::input, 0);
  EXPECT_TRUE(negative.flags & kNegative);
  EXPECT_EQ(run.digest(negative), digestOf(imag.resolve_neg()));
}

TEST(Views, ShareStorageAndHaveTheirOwnContent) {
  const at::Tensor a = torch::randn({3, 4});
  const Recorded run([&] {
    const at::Tensor x = a + 1;
    const at::Tensor t = x.t();
    t.exp();
    x.view({-1}).exp();
  });
  const Op& add = run.find("aten::add.Scalar");
  const Op& exp = run.find("aten::exp", 0);
  const Operand input = run.operand(exp, Role::input, 0);
  EXPECT_EQ(input.storage, run.operand(add, Role::output, 0).storage);
  EXPECT_EQ(input.writer, add.id);
  EXPECT_EQ(input.closure, Closure::matched);
  EXPECT_EQ(run.digest(input), digestOf((a + 1).t()));
  // A reshape visits the same bytes in the same order: the writer's fingerprint vouches for it.
  EXPECT_EQ(run.operand(run.find("aten::exp", 1), Role::input, 0).closure, Closure::matched);
}

TEST(Ops, WithOnlyMetaTensorsComputeNothing) {
  const at::Tensor meta = torch::empty({2, 2}, torch::device(torch::kMeta));
  const Recorded run([&] {
    meta.add(1);
    torch::ones({2});
  });
  EXPECT_EQ(run.names(), (Names{"aten::ones"}));
}

TEST(Views, InPlaceReshapesWriteNothing) {
  const at::Tensor a = torch::randn({3, 4});
  const Recorded run([&] {
    const at::Tensor x = a + 1;
    x.t_();
    x.exp();
  });
  const Op& t = run.find("aten::t_");
  EXPECT_EQ(run.describe(t), (Names{"before0 f32[3, 4]", "after0 f32[4, 3]"}));
  const Operand input = run.operand(run.find("aten::exp"), Role::input, 0);
  EXPECT_EQ(input.writer, run.find("aten::add.Scalar").id);
  EXPECT_EQ(input.closure, Closure::matched);
}

TEST(Views, OffsetsAreRecorded) {
  const at::Tensor a = torch::randn({6, 4});
  const Recorded run([&] { a.narrow(0, 2, 3).exp(); });
  EXPECT_EQ(run.operand(run.find("aten::exp"), Role::input, 0).offset, 8);
}

TEST(Closure, DataIsASource) {
  const at::Tensor a = torch::randn({4});
  const Recorded run([&] { a.exp(); });
  EXPECT_EQ(run.operand(run.find("aten::exp"), Role::input, 0).closure, Closure::source);
}

TEST(Closure, AWriteBehindTheRecordersBackIsSeen) {
  const Recorded run([&] {
    const at::Tensor x = torch::zeros({4});
    x.exp();
    x.data_ptr<float>()[2] = 5;
    x.sin();
    x.cos();
  });
  EXPECT_EQ(run.operand(run.find("aten::exp"), Role::input, 0).closure, Closure::matched);
  EXPECT_EQ(run.operand(run.find("aten::sin"), Role::input, 0).closure, Closure::broken);
  EXPECT_EQ(run.operand(run.find("aten::cos"), Role::input, 0).closure, Closure::unchecked);
  EXPECT_EQ(run.reader().coverage().closureBroken, 1u);
}

TEST(Closure, AWriteThroughAnotherViewLeavesItUnchecked) {
  const Recorded run([&] {
    const at::Tensor x = torch::zeros({4});
    x.narrow(0, 0, 2).add_(1);
    x.exp();
  });
  const Operand input = run.operand(run.find("aten::exp"), Role::input, 0);
  EXPECT_EQ(input.closure, Closure::unchecked);
  EXPECT_EQ(input.writer, run.find("aten::add_.Scalar").id);
}

TEST(Closure, AReusedAddressIsAnotherStorage) {
  const Recorded run([&] {
    for (int i = 0; i < 4; ++i) torch::full({16}, i);
  });
  const auto storage = [&](int n) {
    return run.operand(run.find("aten::full", n), Role::output, 0).storage;
  };
  EXPECT_NE(storage(0), storage(1));
  EXPECT_NE(storage(1), storage(2));
}

TEST(Scalars, AreThereWithTheirDefaults) {
  const at::Tensor a = torch::randn({2, 3}), b = torch::randn({2, 3});
  const Recorded run([&] {
    at::add(a, b, 2);
    a.add(0.5);
    a.sum({1}, true, torch::kDouble);
    at::clamp(a, 0.25);
    at::gelu(a, "tanh");
    at::to_dense_backward(a, b);
  });
  EXPECT_EQ(run.scalar(run.find("aten::add.Tensor", 0), "alpha"), "2");
  EXPECT_EQ(run.scalar(run.find("aten::add.Tensor", 0), "other"), "absent");
  const Op& sum = run.find("aten::sum.dim_IntList");
  EXPECT_EQ(run.scalar(sum, "dim"), "[1]");
  EXPECT_EQ(run.scalar(sum, "keepdim"), "True");
  EXPECT_EQ(run.scalar(sum, "dtype"), "float64");
  const Op& clamp = run.find("aten::clamp");
  EXPECT_EQ(run.scalar(clamp, "min"), "0.25");
  EXPECT_EQ(run.scalar(clamp, "max"), "None");
  EXPECT_EQ(run.scalar(run.find("aten::gelu"), "approximate"), "tanh");
}

TEST(Layouts, HaveAFingerprintOrAReason) {
  const at::Tensor dense = torch::tensor({{0.f, 1.f}, {2.f, 0.f}});
  const at::Tensor coo = dense.to_sparse(), csr = dense.to_sparse_csr();
  const at::Tensor nested = at::_nested_tensor_from_tensor_list({torch::ones({2}), torch::ones({3})});
  const at::Tensor quantized = at::quantize_per_tensor(dense, 0.1, 0, torch::kQInt8);
  const at::Tensor opaque = dense.to_mkldnn();
  const at::Tensor nothing = torch::zeros({0, 3});
  const Recorded run([&] {
    coo.mul(2);
    csr.mul(2);
    at::relu(nested);
    at::relu(quantized);
    at::relu(opaque);
    dense.to(torch::kMeta);
    at::relu(nothing);
  });
  auto reason = [&](const std::string& op, int n) {
    const Operand operand = run.operand(run.find(op, n), Role::input, 0);
    EXPECT_EQ(bool(operand.fingerprint), operand.skip == SkipReason::none);
    return operand.skip;
  };
  EXPECT_EQ(reason("aten::mul.Scalar", 0), SkipReason::none);
  EXPECT_EQ(reason("aten::mul.Scalar", 1), SkipReason::none);
  EXPECT_EQ(reason("aten::relu", 0), SkipReason::none);
  EXPECT_EQ(reason("aten::relu", 1), SkipReason::none);
  EXPECT_EQ(reason("aten::relu", 2), SkipReason::layout);
  EXPECT_EQ(run.operand(run.find("aten::_to_copy"), Role::output, 0).skip, SkipReason::fake);
  EXPECT_EQ(reason("aten::relu", 3), SkipReason::none);
}

TEST(Layouts, SparseContentIsCompared) {
  const at::Tensor a = torch::tensor({{0.f, 1.f}, {2.f, 0.f}});
  const at::Tensor moved = torch::tensor({{1.f, 0.f}, {2.f, 0.f}});
  const at::Tensor first = a.to_sparse(), same = a.to_sparse(), other = moved.to_sparse();
  const Recorded run([&] {
    first.mul(2);
    same.mul(2);
    other.mul(2);
  });
  const auto digest = [&](int n) {
    return run.digest(run.operand(run.find("aten::mul.Scalar", n), Role::input, 0));
  };
  EXPECT_EQ(digest(0), digest(1));
  EXPECT_FALSE(digest(0) == digest(2));  // equal values at other places
}

TEST(Layouts, AStorageTooSmallIsAReasonNotACrash) {
  at::Tensor x = torch::ones({16});
  x.storage().unsafeGetStorageImpl()->set_nbytes(8);  // as freed parameters of FSDP are
  const Recorded run([&] { x.view({4, 4}); });
  EXPECT_EQ(run.operand(run.find("aten::view"), Role::input, 0).skip, SkipReason::storage);
  x.storage().unsafeGetStorageImpl()->set_nbytes(64);
}

TEST(Layouts, AHugeExpandedViewDoesNotStopTheProgram) {
  const at::Tensor x = torch::ones({1});
  const Recorded run([&] { x.expand({int64_t(1) << 45}); });
  EXPECT_EQ(run.operand(run.find("aten::expand"), Role::output, 0).skip, SkipReason::storage);
}

}  // namespace
}  // namespace ulpscope::testing
