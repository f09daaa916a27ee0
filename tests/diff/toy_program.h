#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"

/// A small training program that computes real numbers and records itself, and into which faults of
/// known kind and place can be put: the truth that the diff engine has to find.
namespace ulpscope::testing {

enum class Fault {
  none, oneUlp, scaled, nan, permuted, missing, extra, swapped, twice, decomposed, scalar, dtypeDropped,
  wrongTensor, stale, data, parameter, seed, behind,
};

/// The fault happens at the `at`-th op call of the fault-free program (see ToyProgram::calls).
struct Planted {
  Fault fault = Fault::none;
  int at = -1;
};

struct ToyOptions {
  int layers = 3;
  int steps = 3;
  std::vector<Planted> faults;
  std::string prefix;           ///< in front of each module name
  bool modules = true;          ///< names of modules, as Python gives them
  bool lines = true;            ///< source lines
  bool reorder = false;         ///< independent ops the other way round
  bool cut = false;             ///< no clean end
  bool dropout = false;
  int cutAfterStep = 1000000;

  friend void PrintTo(const ToyOptions& options, std::ostream* out) {
    *out << (options.modules ? "modules" : "no modules") << (options.lines ? "" : ", no lines");
  }
};

class ToyProgram {
 public:
  struct Call {
    std::string name;
    int step;
    Phase phase;
    OpId id;
  };

  ToyProgram(const std::string& path, ToyOptions options)
      : options_(std::move(options)), trace_(path, {.overwrite = true}) { run(); }

  /// Calls of the fault-free program, in order: the places at which a fault can be planted. With
  /// faults, the ids that these calls got (none where the fault removed the op).
  const std::vector<Call>& calls() const { return calls_; }
  /// For each planted fault the op that shows it first on this side (none: the side lacks it).
  const std::vector<OpId>& culprits() const { return culprits_; }

 private:
  static constexpr int kSize = 6;
  using Values = std::vector<double>;
  using Binary = std::function<double(double, double)>;

  static Values rounded(Values values) {
    for (double& value : values) value = double(float(value));
    return values;
  }

  const Planted* planted(int at) const {
    for (const Planted& fault : options_.faults) {
      if (fault.at == at) return &fault;
    }
    return nullptr;
  }
  Fault faultAt(int at) const {
    const Planted* fault = planted(at);
    return fault ? fault->fault : Fault::none;
  }
  void culprit(int at, OpId id) {
    for (size_t f = 0; f < options_.faults.size(); ++f) {
      if (options_.faults[f].at == at && !culprits_[f]) culprits_[f] = id;
    }
  }

  Values spoil(Fault fault, Values values) {
    switch (fault) {
      case Fault::oneUlp:
        for (double& value : values) {
          if (value != 0) {
            value = double(std::nextafter(float(value), INFINITY));
            break;
          }
        }
        break;
      case Fault::scaled: for (double& value : values) value = double(float(value * 1.01)); break;
      case Fault::nan: values[values.size() / 2] = NAN; break;
      case Fault::permuted: std::swap(values.front(), values.back()); break;
      case Fault::stale: values.back() = 0; break;
      default: break;
    }
    return values;
  }

  Stack stackOf(int line) const {
    return options_.lines ? Stack{{"/src/model.py", line, "forward"}} : Stack{};
  }

  OpId record(OpSpec spec, int line) {
    spec.stack = stackOf(line);
    return trace_.op(spec);
  }

  /// One op of the program: computes, spoils what a fault says, and records.
  Tensor call(const std::string& name, std::vector<Tensor> inputs, std::vector<int64_t> sizes,
              const std::function<Values(const std::vector<Tensor>&, double)>& compute,
              double scalar, int line, int64_t sequence = -1) {
    const int at = int(calls_.size());
    const Fault fault = faultAt(at);
    calls_.push_back({name, step_, phase_, {}});
    if (fault == Fault::missing && inputs[0].sizes() == sizes) {
      return inputs[0];
    }
    if (fault == Fault::scalar) scalar *= 1.25;
    if (fault == Fault::wrongTensor) {
      for (size_t k = 0; k < pool_.size(); ++k) {
        const Tensor& other = pool_[pool_.size() - 1 - k];
        if (other.sizes() == inputs.back().sizes() && other.storage() != inputs.back().storage() &&
            other.values() != inputs.back().values()) {
          inputs.back() = other;
          break;
        }
      }
    }
    if (fault == Fault::swapped && inputs[0].sizes() == sizes) {
      // relu first, then the op, where the program has the op and then a relu after it.
      Tensor before = apply("aten::relu", {inputs[0]}, sizes, relu, 0, line + 1, sequence);
      culprit(at, calls_.back().id);
      inputs[0] = before;
    }
    Tensor out = apply(name, inputs, sizes, compute, scalar, line, sequence);
    if (fault != Fault::none && fault != Fault::extra && fault != Fault::twice) {
      culprit(at, calls_[size_t(at)].id);
    }
    if (fault == Fault::extra) {
      out = apply("aten::tanh", {out}, sizes,
                  [](const std::vector<Tensor>& in, double) {
                    Values v = in[0].values();
                    for (double& x : v) x = std::tanh(x);
                    return v;
                  },
                  0, line, -1);
      culprit(at, lastId_);
      calls_[size_t(at)].id = {};
    }
    if (fault == Fault::twice && inputs[0].sizes() == sizes) {
      std::vector<Tensor> again = inputs;
      again[0] = out;
      out = apply(name, again, sizes, compute, scalar, line, sequence);
      culprit(at, lastId_);
    }
    return out;
  }

  Tensor apply(const std::string& name, const std::vector<Tensor>& inputs,
               std::vector<int64_t> sizes,
               const std::function<Values(const std::vector<Tensor>&, double)>& compute,
               double scalar, int line, int64_t sequence) {
    const int at = int(calls_.size()) - 1;
    const Fault fault = faultAt(at);
    Values values = spoil(fault, rounded(compute(inputs, scalar)));
    const DType dtype = fault == Fault::dtypeDropped ? DType::Float64 : DType::Float32;
    Tensor out = trace_.tensor(std::move(sizes), std::move(values), dtype);
    OpSpec spec;
    spec.name = name;
    spec.inputs = inputs;
    spec.outputs = {out};
    spec.sequence = sequence;
    if (scalar != 0) {
      spec.scalars = [scalar, n = int16_t(inputs.size())](ScalarPacker& s) { s.floating(n, scalar); };
    }
    lastId_ = record(spec, line);
    calls_.back().id = lastId_;
    pool_.push_back(out);
    return out;
  }

  static Values relu(const std::vector<Tensor>& in, double) {
    Values v = in[0].values();
    for (double& x : v) x = std::max(0.0, x);
    return v;
  }
  static Values add(const std::vector<Tensor>& in, double alpha) {
    Values v = in[0].values();
    const Values& w = in[1].values();
    for (size_t i = 0; i < v.size(); ++i) v[i] += (alpha == 0 ? 1 : alpha) * w[i % w.size()];
    return v;
  }
  static Values mul(const std::vector<Tensor>& in, double scale) {
    Values v = in[0].values();
    for (size_t i = 0; i < v.size(); ++i) {
      v[i] *= in.size() > 1 ? in[1].values()[i % in[1].values().size()] : scale;
    }
    return v;
  }
  static Values mm(const std::vector<Tensor>& in, double) {
    Values v(kSize * kSize, 0);
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) {
        for (int k = 0; k < kSize; ++k) {
          v[size_t(i * kSize + j)] += in[0].values()[size_t(i * kSize + k)] *
                                      in[1].values()[size_t(k * kSize + j)];
        }
      }
    }
    return v;
  }
  static Values transposed(const std::vector<Tensor>& in, double) {
    Values v(kSize * kSize);
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) v[size_t(j * kSize + i)] = in[0].values()[size_t(i * kSize + j)];
    }
    return v;
  }
  static Values norm(const std::vector<Tensor>& in, double eps) {
    Values v = in[0].values();
    for (int i = 0; i < kSize; ++i) {
      double sum = 0, squares = 0;
      for (int j = 0; j < kSize; ++j) sum += v[size_t(i * kSize + j)];
      const double mean = sum / kSize;
      for (int j = 0; j < kSize; ++j) squares += std::pow(v[size_t(i * kSize + j)] - mean, 2);
      const double scale = 1 / std::sqrt(squares / kSize + eps);
      for (int j = 0; j < kSize; ++j) {
        v[size_t(i * kSize + j)] = (v[size_t(i * kSize + j)] - mean) * scale;
      }
    }
    return v;
  }
  static Values mean(const std::vector<Tensor>& in, double) {
    double sum = 0;
    for (const double x : in[0].values()) sum += x;
    return {sum / double(in[0].values().size())};
  }

  void run() {
    culprits_.assign(options_.faults.size(), {});
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    const auto draw = [&](size_t n) {
      Values v(n);
      for (double& x : v) x = double(float(normal(random)));
      return v;
    };
    const std::vector<int64_t> square{kSize, kSize};
    std::vector<Tensor> weights, biases;
    for (int layer = 0; layer < options_.layers; ++layer) {
      Values w = draw(kSize * kSize);
      for (double& x : w) x = double(float(x * 0.4));
      if (has(Fault::parameter) && layer == 1) w[3] = double(float(w[3] * 1.001));
      weights.push_back(trace_.parameter(square, w));
      biases.push_back(trace_.parameter({kSize}, draw(kSize)));
    }
    for (step_ = 0; step_ < options_.steps; ++step_) {
      trace_.step(step_);
      Values data = draw(kSize * kSize);
      if (has(Fault::data) && step_ == 1) data[5] += 0.25;
      trainStep(trace_.tensor(square, data), weights, biases);
      if (step_ >= options_.cutAfterStep) break;
    }
    if (options_.cut) trace_.cutShort();
    else trace_.finish();
  }

  bool has(Fault fault) const {
    for (const Planted& planted : options_.faults) {
      if (planted.fault == fault) return true;
    }
    return false;
  }

  void trainStep(Tensor x, std::vector<Tensor>& weights, std::vector<Tensor>& biases) {
    const std::vector<int64_t> square{kSize, kSize};
    setPhase(Phase::forward);
    const auto maybeModule = [&](const std::string& name, const std::string& kind) {
      return options_.modules ? std::optional(trace_.module(options_.prefix + name, kind))
                              : std::nullopt;
    };
    std::vector<Tensor> inputs;
    std::vector<int64_t> sequences;
    for (int layer = 0; layer < options_.layers; ++layer) {
      const std::string name = "layers." + std::to_string(layer);
      inputs.push_back(x);
      Tensor h;
      {
        auto scope = maybeModule(name + ".linear", "Linear");
        sequences.push_back(++sequence_);
        h = call("aten::mm", {x, weights[size_t(layer)]}, square, mm, 0, 10, sequence_);
        h = call("aten::add.Tensor", {h, biases[size_t(layer)]}, square, add, 0, 11, ++sequence_);
      }
      {
        auto scope = maybeModule(name + ".norm", "LayerNorm");
        h = call("aten::native_layer_norm", {h}, square, norm, 1e-5, 20, ++sequence_);
      }
      {
        auto scope = maybeModule(name, "Block");
        Tensor left, right;
        const auto doLeft = [&] { left = call("aten::relu", {h}, square, relu, 0, 30, ++sequence_); };
        const auto doRight = [&] { right = call("aten::mul.Scalar", {h}, square, mul, 0.3, 31, ++sequence_); };
        if (options_.reorder) { doRight(); doLeft(); } else { doLeft(); doRight(); }
        h = call("aten::add.Tensor", {left, right}, square, add, 0, 32, ++sequence_);
        x = call("aten::add.Tensor", {x, h}, square, add, 0, 33, ++sequence_);
      }
    }
    Tensor loss = call("aten::mean", {x}, {}, mean, 0, 40, ++sequence_);
    setPhase(Phase::backward);
    Tensor g = call("aten::ones_like", {x}, square,
                    [](const std::vector<Tensor>& in, double) { return Values(in[0].values().size(), 1.0 / 36); },
                    0, 41, sequence_);
    std::vector<Tensor> gradients(weights.size());
    for (int layer = options_.layers - 1; layer >= 0; --layer) {
      const int64_t sequence = sequences[size_t(layer)];
      Tensor xt = call("aten::t", {inputs[size_t(layer)]}, square, transposed, 0, 50, sequence);
      gradients[size_t(layer)] = call("aten::mm", {xt, g}, square, mm, 0, 50, sequence);
      Tensor wt = call("aten::t", {weights[size_t(layer)]}, square, transposed, 0, 50, sequence);
      Tensor gx = call("aten::mm", {g, wt}, square, mm, 0, 50, sequence);
      g = call("aten::add.Tensor", {g, gx}, square, add, 0, 50, -1);
    }
    setPhase(Phase::optimizer);
    for (size_t layer = 0; layer < weights.size(); ++layer) {
      update(weights[layer], gradients[layer]);
    }
    setPhase(Phase::forward);
    pool_.clear();
  }

  void update(Tensor& weight, const Tensor& gradient) {
    const int at = int(calls_.size());
    const Fault fault = faultAt(at);
    calls_.push_back({"aten::add_", step_, phase_, {}});
    if (fault == Fault::missing) return;
    double rate = -0.1;
    if (fault == Fault::scalar) rate *= 3;
    OpSpec spec;
    spec.name = "aten::add_.Tensor";
    spec.mutated = {{weight, spoil(fault, rounded(add({weight, gradient}, rate)))}};
    spec.inputs = {gradient};
    spec.scalars = [rate](ScalarPacker& s) { s.floating(2, rate); };
    lastId_ = record(spec, 60);
    calls_.back().id = lastId_;
    if (fault != Fault::none) culprit(at, lastId_);
  }

  void setPhase(Phase phase) {
    phase_ = phase;
    trace_.phase(phase);
  }

  ToyOptions options_;
  TraceBuilder trace_;
  std::vector<Call> calls_;
  std::vector<OpId> culprits_;
  std::vector<Tensor> pool_;
  OpId lastId_;
  int64_t sequence_ = 0;
  int step_ = 0;
  Phase phase_ = Phase::forward;
};

}  // namespace ulpscope::testing
