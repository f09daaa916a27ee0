#include "tests/support/trace_builder.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <numeric>
#include <stdexcept>

namespace ulpscope::testing {
namespace {

int64_t product(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> contiguous(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

uint16_t toBFloat16(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >>
                               16);  // to nearest, ties to even
}

template <class T>
void put(std::vector<std::byte>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::vector<std::byte> encode(const std::vector<double>& values, DType dtype) {
  std::vector<std::byte> bytes;
  for (double value : values) {
    switch (dtype) {
      case DType::Float32:
        put(bytes, static_cast<float>(value));
        break;
      case DType::Float64:
        put(bytes, value);
        break;
      case DType::Float16:
        put(bytes, static_cast<_Float16>(value));
        break;
      case DType::BFloat16:
        put(bytes, toBFloat16(value));
        break;
      case DType::Int64:
        put(bytes, static_cast<int64_t>(value));
        break;
      case DType::Int32:
        put(bytes, static_cast<int32_t>(value));
        break;
      case DType::UInt8:
        put(bytes, static_cast<uint8_t>(value));
        break;
      case DType::Bool:
        put(bytes, static_cast<uint8_t>(value != 0));
        break;
      default:
        throw std::invalid_argument("TraceBuilder: no values of this dtype");
    }
  }
  return bytes;
}

/// Splits "aten::add.Tensor".
Schema schemaOf(const std::string& qualified, size_t arguments, size_t returns) {
  Schema schema;
  const size_t dot =
      qualified.find('.', qualified.rfind(':') == std::string::npos ? 0 : qualified.rfind(':'));
  schema.name = qualified.substr(0, dot);
  if (dot != std::string::npos) schema.overload = qualified.substr(dot + 1);
  for (size_t i = 0; i < arguments; ++i) schema.arguments.push_back("arg" + std::to_string(i));
  for (size_t i = 0; i < returns; ++i) schema.returns.push_back("out" + std::to_string(i));
  return schema;
}

}  // namespace

int64_t Tensor::elements() const {
  return product(state_->sizes);
}

TraceBuilder::TraceBuilder(const std::string& path, const Writer::Options& options)
    : writer_(std::make_unique<Writer>(path, options)) {}

TraceBuilder::~TraceBuilder() {
  if (writer_) finish();
}

Tensor TraceBuilder::tensor(std::vector<int64_t> sizes, std::vector<double> values, DType dtype) {
  if (product(sizes) != static_cast<int64_t>(values.size())) {
    throw std::invalid_argument("TraceBuilder: as many values as the shape has elements");
  }
  Tensor tensor;
  tensor.state_->dtype = dtype;
  tensor.state_->strides = contiguous(sizes);
  tensor.state_->sizes = std::move(sizes);
  tensor.state_->values = std::move(values);
  tensor.state_->storage = {++lastStorage_};
  return tensor;
}

Tensor TraceBuilder::random(std::vector<int64_t> sizes, DType dtype) {
  const auto uniform = [&] {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return (static_cast<double>(random_ >> 11) + 0.5) * 0x1p-53;
  };
  std::vector<double> values(static_cast<size_t>(product(sizes)));
  for (double& value : values) {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    value = radius * std::cos(2 * std::numbers::pi * uniform());
  }
  return tensor(std::move(sizes), std::move(values), dtype);
}

Tensor TraceBuilder::parameter(std::vector<int64_t> sizes, DType dtype) {
  Tensor tensor = random(std::move(sizes), dtype);
  tensor.state_->flags = kParameter | kRequiresGrad;
  return tensor;
}

Tensor TraceBuilder::parameter(std::vector<int64_t> sizes, std::vector<double> values,
                               DType dtype) {
  Tensor result = tensor(std::move(sizes), std::move(values), dtype);
  result.state_->flags = kParameter | kRequiresGrad;
  return result;
}

Tensor TraceBuilder::view(const Tensor& base, std::vector<int64_t> sizes,
                          std::vector<int64_t> strides, std::vector<double> values,
                          int64_t offset) {
  Tensor view = tensor(std::move(sizes), std::move(values), base.dtype());
  --lastStorage_;
  view.state_->strides = std::move(strides);
  view.state_->storage = base.storage();
  view.state_->offset = offset;
  return view;
}

Tensor TraceBuilder::skipped(std::vector<int64_t> sizes, SkipReason reason, DType dtype) {
  Tensor result;
  result.state_->dtype = dtype;
  result.state_->strides = contiguous(sizes);
  result.state_->sizes = std::move(sizes);
  result.state_->storage = {++lastStorage_};
  result.state_->skip = reason;
  return result;
}

Fingerprint TraceBuilder::fingerprintOf(const Tensor& tensor) const {
  const Tensor::State& state = *tensor.state_;
  // The values are those of the logical elements: their fingerprint does not depend on the strides.
  const std::vector<std::byte> bytes = encode(state.values, state.dtype);
  StridedView view;
  view.data = bytes.data();
  view.dtype = state.dtype;
  view.dim = static_cast<int32_t>(state.sizes.size());
  view.sizes = state.sizes.data();
  return fingerprint(view, Level::full);
}

Closure TraceBuilder::closureOf(const Tensor& tensor) const {
  const auto found = writers_.find(tensor.storage());
  if (found == writers_.end()) return Closure::source;
  if (tensor.state_->skip != SkipReason::none || found->second.by.lock() != tensor.state_) {
    return Closure::unchecked;
  }
  return fingerprintOf(tensor).digest == found->second.digest ? Closure::matched : Closure::broken;
}

void TraceBuilder::written(const Tensor& tensor, OpId op) {
  Written& last = writers_[tensor.storage()];
  last.op = op;
  last.by = tensor.state_;
  if (tensor.state_->skip == SkipReason::none) last.digest = fingerprintOf(tensor).digest;
}

void TraceBuilder::addOperand(const Tensor& tensor, Role role, int16_t arg, OpId writer,
                              Closure closure) {
  const Tensor::State& state = *tensor.state_;
  RawOperand raw;
  raw.role = role;
  raw.skip = state.skip;
  raw.closure = closure;
  raw.flags = state.flags;
  raw.arg = arg;
  raw.dtype = state.dtype;
  raw.dim = static_cast<int32_t>(state.sizes.size());
  raw.hasStrides = true;
  raw.hasFingerprint = state.skip == SkipReason::none;
  raw.storage = state.storage;
  raw.offset = state.offset;
  raw.writer = writer;
  Fingerprint fingerprint;
  if (raw.hasFingerprint) fingerprint = fingerprintOf(tensor);
  events_.addOperand(raw, state.sizes.data(), state.strides.data(), &fingerprint);
}

OpId TraceBuilder::op(const std::string& name, std::vector<Tensor> inputs,
                      std::vector<Tensor> outputs) {
  OpSpec spec;
  spec.name = name;
  spec.inputs = std::move(inputs);
  spec.outputs = std::move(outputs);
  return op(spec);
}

OpId TraceBuilder::op(const OpSpec& spec) {
  const OpId id{++lastOp_};
  for (OpenRegion& open : regions_) {
    if (open.written) continue;
    open.written = true;
    open.region.begin = id;
    events_.addRegion(open.region);
  }
  ScalarPacker scalars;
  if (spec.scalars != nullptr) spec.scalars(scalars);

  RawOp raw;
  raw.id = id;
  raw.parent = spec.parent;
  raw.kind = spec.kind;
  raw.phase = phase_;
  raw.raised = spec.raised;
  raw.thread = thread_;
  raw.step = step_;
  if (!regions_.empty()) raw.region = regions_.back().region.id;
  raw.schema = writer_->schema(
      schemaOf(spec.name, spec.inputs.size() + spec.mutated.size() + 4, spec.outputs.size()));
  if (!spec.stack.empty()) raw.stack = writer_->stack(spec.stack);
  if (!spec.provenance.kernel.empty()) raw.provenance = writer_->provenance(spec.provenance);
  raw.sequence = spec.sequence;
  raw.forwardThread = spec.forwardThread;
  raw.operandCount =
      static_cast<uint16_t>(spec.inputs.size() + 2 * spec.mutated.size() + spec.outputs.size());
  raw.scalarBytes = static_cast<uint32_t>(scalars.bytes().size());
  events_.addOp(raw, scalars.bytes());

  const auto writerOf = [&](const Tensor& tensor) {
    const auto found = writers_.find(tensor.storage());
    return found != writers_.end() ? found->second.op : OpId{};
  };
  int16_t arg = 0;
  for (const OpSpec::Mutation& mutation : spec.mutated) {
    addOperand(mutation.tensor, Role::before, arg++, writerOf(mutation.tensor),
               closureOf(mutation.tensor));
  }
  for (const Tensor& input : spec.inputs) {
    addOperand(input, Role::input, arg++, writerOf(input), closureOf(input));
  }
  arg = 0;
  for (const OpSpec::Mutation& mutation : spec.mutated) {
    const OpId before = writerOf(mutation.tensor);
    mutation.tensor.state_->values = mutation.values;
    addOperand(mutation.tensor, Role::after, arg++, before, Closure::unchecked);
    written(mutation.tensor, id);
  }
  arg = 0;
  for (const Tensor& output : spec.outputs) {
    addOperand(output, Role::output, arg++, writerOf(output), Closure::unchecked);
    written(output, id);
  }
  if (events_.size() > (size_t{1} << 20)) writer_->submit(events_);
  return id;
}

TraceBuilder::Scope TraceBuilder::region(RegionKind kind, std::string_view name,
                                         std::string_view detail, int64_t sequence) {
  OpenRegion open;
  open.region.id = {++lastRegion_};
  if (!regions_.empty()) open.region.parent = regions_.back().region.id;
  open.region.kind = kind;
  open.region.thread = thread_;
  open.region.step = step_;
  open.region.sequence = sequence;
  open.region.name = writer_->string(name);
  open.region.detail = writer_->string(detail);
  regions_.push_back(open);
  return Scope(*this);
}

TraceBuilder::Scope TraceBuilder::module(std::string_view name, std::string_view className) {
  return region(RegionKind::module, name, className);
}

TraceBuilder::Scope::~Scope() {
  if (builder_ != nullptr) builder_->regions_.pop_back();
}

void TraceBuilder::flush() {
  writer_->submit(events_);
  writer_->flush();
}

void TraceBuilder::finish() {
  writer_->submit(events_);
  writer_->finish();
}

void TraceBuilder::cutShort() {
  writer_->submit(events_);
  writer_.reset();
}

}  // namespace ulpscope::testing
