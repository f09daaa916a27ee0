#include "bench/gui/long_trace.h"

#include <vector>

#include "store/writer.h"

namespace ulpscope::bench {
namespace {

constexpr int kBlocks = 12;

class LongTrace {
 public:
  LongTrace(const std::string& path, bool differs) : writer_(path, overwriting()), differs_(differs) {
    for (const char* key : {"torch.version", "threads"}) writer_.environment(key, "2");
  }

  void write(int64_t ops) {
    const int64_t perStep = 2 * (kBlocks * 9 + 2) + 48;
    const int steps = int(std::max<int64_t>(1, ops / perStep));
    for (step_ = 0; step_ < steps; ++step_) writeStep(step_ == steps * 9 / 10);
    writer_.submit(events_);
    writer_.finish();
  }

 private:
  static Writer::Options overwriting() {
    Writer::Options options;
    options.overwrite = true;
    return options;
  }

  RegionId region(RegionKind kind, const std::string& name, const char* detail, RegionId parent,
                  int64_t sequence = -1) {
    RawRegion region;
    region.id = RegionId{++lastRegion_};
    region.parent = parent;
    region.kind = kind;
    region.step = step_;
    region.begin = OpId{lastOp_ + 1};
    region.sequence = sequence;
    region.name = writer_.string(name);
    region.detail = writer_.string(detail);
    events_.addRegion(region);
    return region.id;
  }

  static Fingerprint madeUp(uint64_t value, bool off) {
    Fingerprint print;
    print.level = Level::full;
    print.digest = {value * 0x9e3779b97f4a7c15 + (off ? 1 : 0), value};
    print.statistics = {1024, 0, 0, 0, 0, 0, 0, -3, 3, double(value % 97), 800, 1024};
    for (int i = 0; i < kSketchSize; ++i) print.sketch[i] = double((value + i) % 13) - 6;
    if (off) print.sketch[value % kSketchSize] += 1e-4;
    return print;
  }

  void operand(Role role, int arg, int64_t storage, OpId writer, uint64_t value, bool off,
               bool parameter = false) {
    static const int64_t sizes[] = {8, 128};
    static const int64_t strides[] = {128, 1};
    RawOperand raw;
    raw.role = role;
    raw.arg = int16_t(arg);
    raw.dtype = DType::Float32;
    raw.dim = 2;
    raw.hasStrides = true;
    raw.hasFingerprint = true;
    raw.storage = StorageId{storage};
    raw.writer = writer;
    raw.flags = parameter ? kParameter : 0;
    const Fingerprint print = madeUp(value, off);
    events_.addOperand(raw, sizes, strides, &print);
  }

  /// One op that reads the last result, a parameter, and writes a new storage.
  void op(const char* name, RegionId region, int parameter, int64_t sequence) {
    RawOp raw;
    raw.id = OpId{++lastOp_};
    raw.phase = phase_;
    raw.step = step_;
    raw.region = region;
    raw.schema = writer_.schema({name, "", {"self", "weight"}, {"out"}});
    raw.sequence = sequence;
    raw.operandCount = parameter >= 0 ? 3 : 2;
    events_.addOp(raw, {});
    operand(Role::input, 0, lastStorage_, lastWriter_, uint64_t(lastOp_ - 1), inputOff_);
    if (parameter >= 0)
      operand(Role::input, 1, 1'000'000'000 + parameter, {}, uint64_t(1'000'000 + parameter), false,
              true);
    inputOff_ = off_;
    operand(Role::output, 0, ++lastStorage_, {}, uint64_t(lastOp_), off_);
    lastWriter_ = raw.id;
    if (events_.size() > (size_t(1) << 20)) writer_.submit(events_);
  }

  void writeStep(bool faulty) {
    phase_ = Phase::forward;
    const int64_t first = sequence_;
    const RegionId model = region(RegionKind::module, "", "GPT2LMHeadModel", {});
    const RegionId body = region(RegionKind::module, "transformer", "GPT2Model", model);
    op("aten::embedding", body, 0, sequence_++);
    for (int block = 0; block < kBlocks; ++block) {
      const std::string name = "transformer.h." + std::to_string(block);
      const RegionId outer = region(RegionKind::module, name, "GPT2Block", body);
      const RegionId ln1 = region(RegionKind::module, name + ".ln_1", "LayerNorm", outer);
      op("aten::native_layer_norm", ln1, 1 + block, sequence_++);
      const RegionId attention = region(RegionKind::module, name + ".attn", "GPT2Attention", outer);
      op("aten::addmm", attention, 20 + block, sequence_++);
      op("aten::_scaled_dot_product_flash_attention_for_cpu", attention, -1, sequence_++);
      op("aten::addmm", attention, 40 + block, sequence_++);
      op("aten::add", outer, -1, sequence_++);
      const RegionId mlp = region(RegionKind::module, name + ".mlp", "GPT2MLP", outer);
      op("aten::addmm", mlp, 60 + block, sequence_++);
      off_ = off_ || (faulty && differs_ && block == 6);
      op("aten::gelu", mlp, -1, sequence_++);
      op("aten::addmm", mlp, 80 + block, sequence_++);
      op("aten::add", outer, -1, sequence_++);
    }
    op("aten::nll_loss_forward", model, -1, sequence_++);
    phase_ = Phase::backward;
    for (int64_t i = sequence_ - 1; i >= first; --i)
      op(i % 2 ? "aten::mm" : "aten::mul", region(RegionKind::autograd, "Backward", "", {}, i), -1, i);
    phase_ = Phase::optimizer;
    const RegionId optimizer = region(RegionKind::optimizer, "AdamW", "", {});
    for (int i = 0; i < 48; ++i) op("aten::_foreach_addcdiv_", optimizer, 100 + i, -1);
  }

  Writer writer_;
  EventBuffer events_;
  bool differs_;
  bool off_ = false;
  bool inputOff_ = false;
  int step_ = 0;
  Phase phase_ = Phase::forward;
  int64_t lastOp_ = 0;
  int64_t lastRegion_ = 0;
  int64_t lastStorage_ = 1;
  int64_t sequence_ = 0;
  OpId lastWriter_;
};

}  // namespace

void writeLongTrace(const std::string& path, int64_t ops, bool differs) {
  LongTrace(path, differs).write(ops);
}

}  // namespace ulpscope::bench
