#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fingerprint/fingerprint.h"

/// The words of a trace, as typed structs: what the writer takes and the reader gives.
namespace ulpscope {

/// An index that can't be mixed up with another kind. 0 means "none" for all of them.
template <class Tag, class Rep = uint32_t>
struct StrongId {
  Rep value = 0;
  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

using OpId = StrongId<struct OpTag, int64_t>;  ///< order in which ops started, process-wide, from 1
using StringId = StrongId<struct StringTag>;
using SchemaId = StrongId<struct SchemaTag>;
using StackId = StrongId<struct StackTag>;
using RegionId = StrongId<struct RegionTag, int64_t>;
using TypeId = StrongId<struct TypeTag>;                ///< TensorType
using FingerprintId = StrongId<struct FingerprintTag, int64_t>;
using ScalarsId = StrongId<struct ScalarsTag>;
using ProvenanceId = StrongId<struct ProvenanceTag>;
using StorageId = StrongId<struct StorageTag, int64_t>;  ///< one storage from birth to death

// The numeric values of all enums below are part of the trace format: append, never renumber.

enum class OpKind : uint8_t {
  op = 0,        ///< a dispatcher call at the TorchDispatch level
  kernel = 1,    ///< a call of a compiled kernel
  compiled = 2,  ///< a call of a compiled region; its operands are the region's inputs and outputs
  wrapper = 3,   ///< a dispatcher call on wrapped tensors (DTensor, subclasses, vmap); encloses ops
  collective = 4,
};

enum class Phase : uint8_t { other = 0, forward = 1, backward = 2, optimizer = 3 };

enum class RegionKind : uint8_t {
  module = 0,       ///< name: qualified module name from its root ("" = root); detail: class name
  compiled = 1,     ///< name: graph id; detail: the backend
  autograd = 2,     ///< name: node name ("AddmmBackward0"); sequence: of the forward op
  optimizer = 3,    ///< name: "AdamW"
  scope = 4,        ///< a user's record_function or ulpscope.region
  higherOrder = 5,  ///< name: "cond", "while_loop", ...; detail: branch or iteration
};

enum class Role : uint8_t { input = 0, output = 1, before = 2, after = 3 };

/// Why a tensor has no fingerprint.
enum class SkipReason : uint8_t {
  none = 0,
  option = 1,         ///< the user asked for less (--inputs, --include, --steps)
  fake = 2,           ///< fake or meta tensor: no data
  wrapper = 3,        ///< wraps other tensors, which are recorded inside
  device = 4,         ///< a device that the recorder cannot read
  layout = 5,         ///< an opaque layout (mkldnn, ...)
  pending = 6,        ///< result of an unfinished asynchronous collective
  uninitialised = 7,  ///< scratch, or not yet written (empty)
  storage = 8,        ///< freed, null or too small for the view
  failed = 9,         ///< the recorder failed on it; see the trace's messages
  trusted = 10,       ///< --inputs=tracked: unwritten since the recorder saw it; fingerprint copied
};
std::string_view name(SkipReason reason);

enum class Layout : uint8_t { strided = 0, sparse = 1, nested = 2, mkldnn = 3, other = 4 };

/// Was this input what its last recorded writer wrote? (closure)
enum class Closure : uint8_t {
  unchecked = 0,  ///< written since through another view, or not fingerprinted
  source = 1,     ///< no recorded writer: data, parameters
  matched = 2,
  broken = 3,     ///< written behind the recorder's back
};

struct TensorType {
  DType dtype = DType::Undefined;
  Layout layout = Layout::strided;
  std::string device;  ///< "cpu", "cuda:0"
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  ///< elements; empty for non-strided layouts
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

enum OperandFlag : uint8_t {
  kRequiresGrad = 1,
  kParameter = 2,      ///< a leaf that requires grad
  kConjugate = 4,
  kNegative = 8,
  kWrappedNumber = 16, ///< a Python number that torch made a tensor
  kScratch = 32,       ///< a kernel's scratch buffer: not comparable
};

struct Operand {
  Role role = Role::input;
  SkipReason skip = SkipReason::none;
  Closure closure = Closure::unchecked;
  uint8_t flags = 0;  ///< OperandFlag
  int16_t arg = 0;    ///< index of the schema's argument or return, or of the kernel's parameter
  int16_t item = -1;  ///< index in a tensor list; -1: not a list
  TypeId type;
  FingerprintId fingerprint;  ///< none where skipped
  StorageId storage;
  int64_t offset = 0;  ///< of the first element in the storage, elements
  OpId writer;         ///< the last recorded op that wrote this storage before this op
};

struct Op {
  OpId id;
  OpId parent;  ///< the enclosing wrapper or compiled entry, or none
  OpKind kind = OpKind::op;
  Phase phase = Phase::other;
  bool raised = false;  ///< the op threw
  uint32_t thread = 0;  ///< small number, in order of first appearance
  int32_t step = 0;
  RegionId region;
  SchemaId schema;
  ScalarsId scalars;
  StackId stack;
  ProvenanceId provenance;
  int64_t sequence = -1;  ///< autograd sequence number: of the forward op itself, or in backward of
                          ///< the forward op that this differentiates; -1 none
  uint32_t forwardThread = 0;  ///< of that forward op, same numbering as `thread`
  uint32_t firstOperand = 0;   ///< in OpTable::operands
  uint32_t operandCount = 0;
};

struct Schema {
  std::string name;      ///< "aten::add", "inductor::cpp_fused_add_0"
  std::string overload;  ///< "Tensor", ""
  std::vector<std::string> arguments;
  std::vector<std::string> returns;
  /// The name with its overload: "aten::add.Tensor".
  std::string qualified() const;
};

struct Frame {
  std::string file;
  int32_t line = 0;
  std::string function;
  friend bool operator==(const Frame&, const Frame&) = default;
};
using Stack = std::vector<Frame>;  ///< innermost first

struct Region {
  RegionId id;
  RegionId parent;
  RegionKind kind = RegionKind::scope;
  uint32_t thread = 0;
  int32_t step = 0;
  OpId begin;  ///< the first op that started inside, as far as written
  int64_t sequence = -1;
  std::string name;
  std::string detail;
};

/// One original op of the program that a compiled kernel computes.
struct SourceOp {
  std::string node;         ///< name of the node in the post-grad graph
  std::string op;           ///< "aten::elu"
  std::string overload;     ///< "default"
  std::string module;       ///< qualified name from the root, as in Region::name
  std::string moduleClass;
  bool backward = false;
  int32_t order = 0;        ///< position in the original program's order, within the graph
  Stack stack;              ///< innermost first
  friend bool operator==(const SourceOp&, const SourceOp&) = default;
};

/// Which source op's value a kernel's parameter holds after the call. Several ties of one parameter
/// name ops with the same elements (a view, a clone), best first: the first with a partner counts.
struct OutputTie {
  int16_t arg = 0;      ///< kernel parameter
  int32_t source = -1;  ///< index in Provenance::sources; -1: no value of the program (scratch)
  float confidence = 0;
  std::string how;      ///< "only candidate", "shape", "value", ...
  int16_t output = 0;   ///< which value of the source op: position among the tensors that it returns,
                        ///< lists flattened; a return that is a written argument counts as well
  bool reshaped = false;  ///< the same elements in the same order, under another shape
  friend bool operator==(const OutputTie&, const OutputTie&) = default;
};

/// Where a kernel call came from; one record for each call site of generated code.
struct Provenance {
  std::string graph;          ///< key of the compiled graph
  std::string kernel;
  std::vector<SourceOp> sources;
  std::vector<OutputTie> ties;
  std::string code;           ///< generated source of the kernel, may be empty
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

/// A scalar argument, in the schema's order. Text is canonical and comparable: "1e-05", "[1, 2]",
/// "float32", "True", "None"; floats print as the shortest text that reads back to the same value.
struct Scalar {
  int16_t arg = 0;
  std::string text;
  friend bool operator==(const Scalar&, const Scalar&) = default;
};

/// Something that happened to the compiler or the recorder: a compiled graph, a graph break, a
/// recompile, a message of the recorder.
struct Event {
  OpId at;  ///< the last op that had started
  std::string kind;  ///< "graph", "graph_break", "recompile", "cache_hit", "message", "closure"
  std::string text;  ///< JSON object
};

struct KeyValue {
  std::string key;
  std::string value;
};

struct Coverage {
  uint64_t ops = 0;
  uint64_t kernels = 0;
  uint64_t tensors = 0;
  uint64_t hashed = 0;
  std::vector<std::pair<std::string, uint64_t>> skipped;  ///< reason, count
  uint64_t closureMatched = 0;
  uint64_t closureBroken = 0;
  uint64_t closureUnchecked = 0;
  uint64_t closureSource = 0;
  /// matched / (matched + broken); 1 where there is none of either.
  double closure() const;
};

}  // namespace ulpscope

template <class Tag, class Rep>
struct std::hash<ulpscope::StrongId<Tag, Rep>> {
  size_t operator()(const ulpscope::StrongId<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
