#include "tests/gui/sample_traces.h"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tests/support/trace_builder.h"

namespace ulpscope::testing {
namespace {

/// Values follow from a tensor's name, so that both runs make the same ones; a tainted tensor of B is
/// off by a relative error that grows from op to op.
class Sample {
 public:
  Sample(const std::string& path, const SampleOptions& options, bool isB)
      : builder_(path, overwriting()), options_(options), isB_(isB) {
    Writer& writer = builder_.writer();
    writer.environment("torch.version", "2.13.0+cpu");
    writer.environment("cpu.capability", "AVX2");
    writer.environment("threads", "2");
    writer.environment("torch.compile", isB && options.fused ? "inductor" : "off");
  }

  void run() {
    for (int block = 0; block < options_.blocks; ++block)
      for (const char* name : {"ln_1", "attn", "ln_2", "mlp"})
        parameters_[key(block, name)] = builder_.parameter({8, 8});
    for (int step = 0; step < options_.steps; ++step) runStep(step);
    if (options_.finished) builder_.finish();
    else builder_.cutShort();
  }

 private:
  static Writer::Options overwriting() {
    Writer::Options options;
    options.overwrite = true;
    return options;
  }
  static std::string key(int block, const std::string& name) {
    return "h." + std::to_string(block) + "." + name;
  }

  Tensor value(const std::string& name, double error) {
    std::vector<double> values(32);
    const size_t seed = std::hash<std::string>{}(name + "#" + std::to_string(step_));
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = std::sin(double(seed % 10007) + 12.9898 * double(i + 1));
      values[i] = x * (1 + error * std::cos(double(i)));
    }
    Tensor tensor = builder_.tensor({4, 8}, values);
    errors_[tensor.storage()] = error;
    return tensor;
  }

  double errorOf(const std::vector<Tensor>& inputs) const {
    double error = 0;
    for (const Tensor& input : inputs)
      if (const auto at = errors_.find(input.storage()); at != errors_.end())
        error = std::max(error, at->second);
    return std::min(error * 1.4, 1e-2);
  }

  Stack stack(const std::string& function, int line) const {
    return {{"modeling_gpt2.py", line, function}, {"train.py", 20 + step_ % 3, "main"}};
  }

  Tensor op(const std::string& name, std::vector<Tensor> inputs, const std::string& out,
            double added = 0) {
    const Tensor result = value(out, std::max(errorOf(inputs), isB_ ? added : 0));
    OpSpec spec;
    spec.name = name;
    spec.inputs = std::move(inputs);
    spec.outputs = {result};
    spec.stack = stack("forward", 100 + int(out.size()));
    spec.sequence = sequence_++;
    builder_.op(spec);
    return result;
  }

  /// gelu and the add behind it: two ops of A, one kernel of B.
  Tensor geluAndAdd(const std::string& at, const Tensor& x, const Tensor& rest, double added,
                    const std::function<TraceBuilder::Scope()>& act) {
    const std::string module = "transformer." + at + ".act";
    if (!(isB_ && options_.fused)) {
      std::optional<TraceBuilder::Scope> scope(act());
      const Tensor hidden = op("aten::gelu", {x}, at + ".gelu", added);
      scope.reset();
      return op("aten::add.Tensor", {hidden, rest}, at + ".add");
    }
    const Tensor hidden = value(at + ".gelu", std::max(errorOf({x}), added));
    // The residual is larger than what is added to it, so that the relative error shrinks.
    const Tensor result = value(at + ".add", std::max(0.5 * errorOf({hidden}), errorOf({rest})));
    OpSpec spec;
    spec.name = "inductor::cpp_fused_add_gelu_" + std::to_string(at.size());
    spec.inputs = {x, rest};
    spec.outputs = {hidden, result};
    spec.kind = OpKind::kernel;
    spec.provenance.graph = "graph 0";
    spec.provenance.kernel = "cpp_fused_add_gelu";
    const auto line = [this](const std::string& out) { return stack("forward", 100 + int(out.size())); };
    spec.provenance.sources = {
        {"gelu", "aten::gelu", "default", module, "NewGELU", false, 0,
         line(at + ".gelu")},
        {"add_1", "aten::add", "Tensor", "transformer." + at, "GPT2MLP", false, 1, line(at + ".add")}};
    spec.provenance.ties = {{0, 0, 1, "only candidate"}, {1, 1, 1, "only candidate"}};
    spec.provenance.code =
        "extern \"C\" void kernel(const float* in_ptr0, const float* in_ptr1,\n"
        "                       float* out_ptr0, float* out_ptr1)\n{\n"
        "    for (int64_t x0 = 0; x0 < 32; x0 += 16) { /* ... */ }\n}\n";
    builder_.op(spec);
    sequence_ += 2;  // the backward of both ops stays as it is
    return result;
  }

  Tensor runBlock(int block, const Tensor& input) {
    const std::string h = "h." + std::to_string(block);
    const std::string module = "transformer." + h;
    auto scope = builder_.module(module, "GPT2Block");
    Tensor x;
    {
      auto inner = builder_.module(module + ".ln_1", "LayerNorm");
      x = op("aten::native_layer_norm", {input, parameters_[h + ".ln_1"]}, h + ".ln_1");
    }
    {
      auto inner = builder_.module(module + ".attn", "GPT2Attention");
      x = op("aten::addmm", {x, parameters_[h + ".attn"]}, h + ".qkv");
      x = op("aten::_scaled_dot_product_flash_attention_for_cpu", {x}, h + ".sdpa");
      x = op("aten::addmm", {x, parameters_[h + ".attn"]}, h + ".proj");
    }
    const Tensor middle = op("aten::add.Tensor", {x, input}, h + ".add");
    {
      auto inner = builder_.module(module + ".ln_2", "LayerNorm");
      x = op("aten::native_layer_norm", {middle, parameters_[h + ".ln_2"]}, h + ".ln_2");
    }
    auto inner = builder_.module(module + ".mlp", "GPT2MLP");
    x = op("aten::addmm", {x, parameters_[h + ".mlp"]}, h + ".mlp.fc");
    if (isB_ && options_.extraOp && block == 0 && step_ == 0)
      builder_.op("aten::clone", {x}, {value("extra", 0)});
    const double added = !options_.equal && block == 1 && step_ == options_.originStep ? 1.5e-7 : 0;
    return geluAndAdd(h + ".mlp", x, middle, added,
                      [&] { return builder_.module(module + ".mlp.act", "NewGELU"); });
  }

  void runStep(int step) {
    step_ = step;
    builder_.step(step);
    builder_.phase(Phase::forward);
    const int64_t firstSequence = sequence_;
    Tensor x = value("input", 0);
    {
      auto model = builder_.module("", "GPT2LMHeadModel");
      auto body = builder_.module("transformer", "GPT2Model");
      x = op("aten::embedding", {x}, "wte");
      for (int block = 0; block < options_.blocks; ++block) x = runBlock(block, x);
    }
    Tensor gradient = op("aten::nll_loss_forward", {x}, "loss");
    builder_.phase(Phase::backward);
    std::vector<Tensor> gradients;
    for (int64_t i = sequence_ - 1; i >= firstSequence; --i) {
      auto node = builder_.region(RegionKind::autograd, "Backward" + std::to_string(i), "", i);
      const Tensor result = value("grad." + std::to_string(i - firstSequence), errorOf({gradient}) / 1.2);
      OpSpec spec;
      spec.name = i % 3 == 0 ? "aten::mm" : i % 3 == 1 ? "aten::sum.dim_IntList" : "aten::mul.Tensor";
      spec.inputs = {gradient};
      spec.outputs = {result};
      spec.sequence = i;
      builder_.op(spec);
      gradient = result;
      gradients.push_back(result);
    }
    builder_.phase(Phase::optimizer);
    auto optimizer = builder_.region(RegionKind::optimizer, "AdamW");
    for (auto& [name, parameter] : parameters_) {
      OpSpec spec;
      spec.name = "aten::_fused_adamw_";
      spec.inputs = {gradients[name.size() % gradients.size()]};
      std::vector<double> values = parameter.values();
      const double error = errorOf(spec.inputs);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = (values[i] - 0.001 * std::sin(double(i + name.size()))) *
                    (1 + error * std::cos(double(i)));
      errors_[parameter.storage()] = std::max(errors_[parameter.storage()], error);
      spec.mutated = {{parameter, values}};
      spec.scalars = [](ScalarPacker& scalars) { scalars.floating(2, 1e-3); };
      builder_.op(spec);
    }
    builder_.phase(Phase::other);
  }

  TraceBuilder builder_;
  SampleOptions options_;
  bool isB_;
  int step_ = 0;
  int64_t sequence_ = 0;
  std::map<std::string, Tensor> parameters_;
  std::map<StorageId, double> errors_;
};

}  // namespace

void writeSampleA(const std::string& path, const SampleOptions& options) {
  SampleOptions equal = options;
  equal.equal = true;
  Sample(path, equal, false).run();
}

void writeSampleB(const std::string& path, const SampleOptions& options) {
  Sample(path, options, true).run();
}

}  // namespace ulpscope::testing
