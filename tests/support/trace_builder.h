#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/event_buffer.h"
#include "store/scalars.h"
#include "store/writer.h"

/// Synthetic traces in a few lines, for tests of whatever reads traces:
///
///   TraceBuilder t("a.ulps");
///   auto x = t.tensor({2, 3}, {1, 2, 3, 4, 5, 6});           // data: nothing wrote it
///   auto w = t.parameter({3, 3});                            // values drawn from a fixed sequence
///   auto h = t.tensor({2, 3}, {...});
///   {
///     auto scope = t.module("encoder.0", "Linear");          // until the end of the block
///     t.op("aten::mm", {x, w}, {h});                         // schema "aten::mm", phase forward
///     t.op({.name = "aten::add_.Tensor", .mutated = {{h, {...new values...}}},
///           .scalars = [](ScalarPacker& s) { s.floating(2, 0.5); }});
///   }
///   t.step(1);
///   t.finish();                                              // or the destructor
///
/// Fingerprints are computed from the values (level full); storages, writers and closure follow
/// from what was built; ids count from 1 in the order of the calls. An op of which the output was
/// used before is fine: the builder only keeps the last writer of each storage.
namespace ulpscope::testing {

/// A tensor with its values. Copies are the same tensor.
class Tensor {
 public:
  DType dtype() const { return state_->dtype; }
  const std::vector<int64_t>& sizes() const { return state_->sizes; }
  const std::vector<double>& values() const { return state_->values; }
  StorageId storage() const { return state_->storage; }
  int64_t elements() const;

 private:
  friend class TraceBuilder;
  struct State {
    DType dtype = DType::Float32;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    std::vector<double> values;  ///< logical elements, row-major, before rounding to the dtype
    StorageId storage;
    int64_t offset = 0;
    uint8_t flags = 0;
    SkipReason skip = SkipReason::none;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// What an op does; designated initializers leave out what is not of interest.
struct OpSpec {
  struct Mutation {
    Tensor tensor;
    std::vector<double> values;  ///< after the op
  };
  std::string name;  ///< "aten::add.Tensor": name and overload
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Mutation> mutated;
  std::function<void(ScalarPacker&)> scalars;
  OpKind kind = OpKind::op;
  Stack stack;
  Provenance provenance;  ///< written where kernel is not empty
  int64_t sequence = -1;
  uint32_t forwardThread = 0;
  OpId parent;
  bool raised = false;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(const std::string& path, const Writer::Options& options = {});
  ~TraceBuilder();

  /// A tensor with a storage of its own, contiguous.
  Tensor tensor(std::vector<int64_t> sizes, std::vector<double> values,
                DType dtype = DType::Float32);
  /// With values from a fixed sequence of normally distributed numbers, one sequence a builder.
  Tensor random(std::vector<int64_t> sizes, DType dtype = DType::Float32);
  Tensor parameter(std::vector<int64_t> sizes, DType dtype = DType::Float32);
  Tensor parameter(std::vector<int64_t> sizes, std::vector<double> values,
                   DType dtype = DType::Float32);
  /// Another tensor in the storage of `base`.
  Tensor view(const Tensor& base, std::vector<int64_t> sizes, std::vector<int64_t> strides,
              std::vector<double> values, int64_t offset = 0);
  /// Without a fingerprint, for the reason given.
  Tensor skipped(std::vector<int64_t> sizes, SkipReason reason, DType dtype = DType::Float32);

  OpId op(const std::string& name, std::vector<Tensor> inputs, std::vector<Tensor> outputs);
  OpId op(const OpSpec& spec);

  class Scope {
   public:
    Scope(Scope&& other) noexcept : builder_(std::exchange(other.builder_, nullptr)) {}
    ~Scope();

   private:
    friend class TraceBuilder;
    explicit Scope(TraceBuilder& builder) : builder_(&builder) {}
    TraceBuilder* builder_;
  };
  [[nodiscard]] Scope module(std::string_view name, std::string_view className);
  [[nodiscard]] Scope region(RegionKind kind, std::string_view name, std::string_view detail = "",
                             int64_t sequence = -1);

  void step(int32_t value) { step_ = value; }
  void phase(Phase value) { phase_ = value; }
  void thread(uint32_t value) { thread_ = value; }

  Writer& writer() { return *writer_; }  ///< for environment, meta, event
  /// Ops so far are committed and can be read by another reader.
  void flush();
  void finish();
  /// Closes the file without the clean-end mark.
  void cutShort();

 private:
  struct OpenRegion {
    RawRegion region;
    bool written = false;
  };
  void addOperand(const Tensor& tensor, Role role, int16_t arg, OpId writer, Closure closure);
  Closure closureOf(const Tensor& tensor) const;
  Fingerprint fingerprintOf(const Tensor& tensor) const;
  void written(const Tensor& tensor, OpId op);

  std::unique_ptr<Writer> writer_;
  EventBuffer events_;
  std::vector<OpenRegion> regions_;
  int64_t lastRegion_ = 0;
  int64_t lastStorage_ = 0;
  int64_t lastOp_ = 0;
  uint64_t random_ = 0x9e3779b97f4a7c15;
  int32_t step_ = 0;
  Phase phase_ = Phase::forward;
  uint32_t thread_ = 0;
  struct Written {
    OpId op;
    std::weak_ptr<const void> by;  ///< the tensor through which it was written
    Digest digest;
  };
  std::unordered_map<StorageId, Written> writers_;
};

}  // namespace ulpscope::testing
