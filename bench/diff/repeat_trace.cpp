// Makes a long trace of a real one: its steps again and again, as a training run of many steps would
// give them, with other values each time. See run.py.
//
//   ulpscope_repeat_trace A.ulps OUT.ulps OPS [B.ulps STEP]
//
// With B, a trace of the same ops of which some differ, OUT holds B's values in the repetition that
// STEP lies in; from there on differs what is computed from what differed, by storage.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

#include "store/reader.h"
#include "store/writer.h"

namespace ulpscope {
namespace {

class Repeater {
 public:
  Repeater(const std::string& from, const std::string& to, const std::string& faulty)
      : reader_(from), table_(reader_.readAll()), writer_(to, overwriting()) {
    if (!faulty.empty()) {
      faulty_ = std::make_unique<Reader>(faulty);
      faultyTable_ = faulty_->readAll();
      if (faultyTable_.operands.size() != table_.operands.size()) {
        throw std::runtime_error("the two traces have other ops");
      }
    }
    for (const KeyValue& entry : reader_.environment()) writer_.environment(entry.key, entry.value);
    for (const Operand& operand : table_.operands) {
      storages_ = std::max(storages_, operand.storage.value + 1);
      if (operand.flags & kParameter) lasting_.insert(operand.storage.value);
    }
    for (const Op& op : table_.ops) {
      steps_ = std::max(steps_, op.step + 1);
      sequences_ = std::max(sequences_, op.sequence + 1);
    }
    for (const Region& region : reader_.regions()) {
      regions_ = std::max(regions_, region.id.value + 1);
      names_.emplace_back(writer_.string(region.name), writer_.string(region.detail));
    }
  }

  void run(int64_t ops, int64_t faultStep) {
    const int64_t times = std::max<int64_t>(1, ops / int64_t(table_.ops.size()));
    for (int64_t time = 0; time < times; ++time) {
      const int64_t fault = faultStep / steps_;
      repeat(time, !faulty_ || time < fault ? Values::ofA
                   : time == fault          ? Values::ofB
                                            : Values::carried);
    }
    writer_.submit(events_);
    writer_.finish();
    if (!writer_.error().empty()) throw std::runtime_error(writer_.error());
  }

 private:
  enum class Values { ofA, ofB, carried };

  static Writer::Options overwriting() {
    Writer::Options options;
    options.overwrite = true;
    return options;
  }

  void repeat(int64_t time, Values values) {
    size_t region = 0;
    const std::vector<Region>& regions = reader_.regions();
    for (size_t i = 0; i < table_.ops.size(); ++i) {
      const Op& op = table_.ops[i];
      for (; region < regions.size() && regions[region].begin <= op.id; ++region) {
        addRegion(regions[region], names_[region], time);
      }
      addOp(op, time, values);
      if (events_.size() > (size_t(1) << 20)) writer_.submit(events_);
    }
  }

  void addRegion(const Region& from, std::pair<StringId, StringId> name, int64_t time) {
    RawRegion region;
    region.id = shifted(from.id, regions_ * time);
    region.parent = shifted(from.parent, regions_ * time);
    region.kind = from.kind;
    region.thread = from.thread;
    region.step = from.step + int32_t(steps_ * time);
    region.begin = shifted(from.begin, opIds() * time);
    region.sequence = from.sequence < 0 ? -1 : from.sequence + sequences_ * time;
    region.name = name.first;
    region.detail = name.second;
    events_.addRegion(region);
  }

  void addOp(const Op& from, int64_t time, Values values) {
    RawOp op;
    op.id = shifted(from.id, opIds() * time);
    op.parent = shifted(from.parent, opIds() * time);
    op.kind = from.kind;
    op.phase = from.phase;
    op.thread = from.thread;
    op.step = from.step + int32_t(steps_ * time);
    op.region = shifted(from.region, regions_ * time);
    op.schema = writer_.schema(reader_.schema(from.schema));
    op.stack = writer_.stack(reader_.stack(from.stack));
    op.sequence = from.sequence < 0 ? -1 : from.sequence + sequences_ * time;
    op.forwardThread = from.forwardThread;
    op.operandCount = uint16_t(from.operandCount);
    const std::vector<std::byte> scalars = scalarBytes(reader_.scalars(from.scalars));
    op.scalarBytes = uint32_t(scalars.size());
    events_.addOp(op, scalars);
    const auto isRead = [](Role role) { return role == Role::input || role == Role::before; };
    bool differs = false;
    for (const Operand& operand : table_.of(from)) {
      differs |= isRead(operand.role) && differing_.contains(storageOf(operand, time).value);
    }
    // Of zeros_like and the like only the shape counts.
    if (reader_.schema(from.schema).name.ends_with("s_like")) differs = false;
    for (uint32_t k = from.firstOperand; k < from.firstOperand + from.operandCount; ++k) {
      const Operand& operand = table_.operands[k];
      const int64_t storage = storageOf(operand, time).value;
      bool off = values == Values::carried &&
                 (isRead(operand.role) ? differing_.contains(storage) : differs);
      addOperand(k, time, values, off);
      if (isRead(operand.role) || values == Values::ofA) continue;
      if (values == Values::ofB) {
        off = operand.fingerprint && reader_.digest(operand.fingerprint) !=
                                         faulty_->digest(faultyTable_.operands[k].fingerprint);
      }
      if (off) differing_.insert(storage);
      else differing_.erase(storage);
    }
  }

  StorageId storageOf(const Operand& operand, int64_t time) const {
    const bool lasts = lasting_.contains(operand.storage.value);
    return lasts ? operand.storage : shifted(operand.storage, storages_ * time);
  }

  void addOperand(uint32_t index, int64_t time, Values values, bool off) {
    const Operand& from = table_.operands[index];
    const TensorType& type = reader_.type(from.type);
    RawOperand operand;
    operand.role = from.role;
    operand.skip = from.skip;
    operand.closure = from.closure;
    operand.flags = from.flags;
    operand.arg = from.arg;
    operand.item = from.item;
    operand.dtype = type.dtype;
    operand.layout = type.layout;
    operand.dim = int32_t(type.sizes.size());
    operand.hasStrides = type.strides.size() == type.sizes.size();
    operand.hasFingerprint = bool(from.fingerprint);
    operand.storage = storageOf(from, time);
    operand.offset = from.offset;
    operand.writer = shifted(from.writer, opIds() * time);
    Fingerprint print;
    if (operand.hasFingerprint) {
      print = values == Values::ofB ? faulty_->fingerprint(faultyTable_.operands[index].fingerprint)
                                    : reader_.fingerprint(from.fingerprint);
      if (!(from.flags & kWrappedNumber)) {
        print.digest.high ^= uint64_t(time) * 0x9E3779B97F4A7C15u;
      }
      if (off) {
        print.digest.low ^= 0x5851F42D4C957F2Du;
        print.sketch[0] += 1e-6 * std::max(1e-3, std::abs(print.sketch[0]));
      }
    }
    events_.addOperand(operand, type.sizes.data(), type.strides.data(),
                       operand.hasFingerprint ? &print : nullptr);
  }

  static std::vector<std::byte> scalarBytes(const std::vector<Scalar>& scalars) {
    std::vector<std::byte> bytes;
    const auto put = [&](const void* data, size_t size) {
      const auto* from = static_cast<const std::byte*>(data);
      bytes.insert(bytes.end(), from, from + size);
    };
    for (const Scalar& scalar : scalars) {
      const ScalarTag tag = ScalarTag::text;
      const uint32_t length = uint32_t(scalar.text.size());
      put(&scalar.arg, sizeof scalar.arg);
      put(&tag, sizeof tag);
      put(&length, sizeof length);
      put(scalar.text.data(), length);
    }
    return bytes;
  }

  int64_t opIds() const { return table_.ops.back().id.value; }
  template <class Id>
  static Id shifted(Id id, int64_t by) {
    return id ? Id{id.value + by} : id;
  }

  Reader reader_;
  OpTable table_;
  std::unique_ptr<Reader> faulty_;
  OpTable faultyTable_;
  Writer writer_;
  EventBuffer events_;
  std::unordered_set<int64_t> lasting_;    // storages of parameters
  std::unordered_set<int64_t> differing_;  // storages that hold other values than A's
  std::vector<std::pair<StringId, StringId>> names_;
  int64_t storages_ = 0, regions_ = 0, sequences_ = 0;
  int32_t steps_ = 1;
};

}  // namespace
}  // namespace ulpscope

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) {
    std::fprintf(stderr, "usage: ulpscope_repeat_trace A.ulps OUT.ulps OPS [B.ulps STEP]\n");
    return 2;
  }
  try {
    ulpscope::Repeater(argv[1], argv[2], argc == 6 ? argv[4] : "")
        .run(std::stoll(argv[3]), argc == 6 ? std::stoll(argv[5]) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ulpscope_repeat_trace: %s\n", error.what());
    return 2;
  }
  return 0;
}
