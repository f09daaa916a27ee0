#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/reader.h"

/// The outcome of a diff: plain data for renderers, the viewer and the gate.
namespace ulpscope {

enum class Verdict : uint8_t { identical, withinTolerance, numeric, structural, notComparable };

enum class Label : uint8_t {
  identical,   ///< inputs agree, outputs agree
  within,      ///< differs, inside the tolerance or the noise floor
  origin,      ///< inputs agree, outputs differ
  propagated,  ///< inputs already differ
  healed,      ///< inputs differ, outputs agree
  structural,  ///< no partner, or partners of another kind, shape, dtype, stride or scalar
  source,      ///< differs with no recorded producer: data, parameters, seeds
  opaque,      ///< not comparable
};

enum class Difference : uint8_t {
  none, bitwise, rounding, numeric, nanInf, dtype, shape, stride, alias, scalar, random, missing,
  extra, unknown,
};

/// How a pair was found.
enum class Method : uint8_t {
  none,        ///< no partner
  merkle,      ///< equal subtrees
  anchor,      ///< unique key, patience order
  edit,        ///< edit distance between anchors
  producers,   ///< found again by its aligned producers
  provenance,  ///< a kernel and the eager ops it came from
  mapping,     ///< the user's mapping file
  coarse,      ///< by order, after a budget was exceeded
};

// Names as in the JSON contract: "within_tolerance", "nan_inf", ...
std::string_view name(Verdict verdict);
std::string_view name(Label label);
std::string_view name(Difference difference);
std::string_view name(Method method);
std::string_view name(Phase phase);

/// Aligned ops, 1:1 or N:M. Either side may be empty. Indices are into DiffResult::a.ops.ops and
/// DiffResult::b.ops.ops.
struct Pair {
  uint32_t firstA = 0;  ///< in DiffResult::membersA
  uint32_t firstB = 0;
  uint16_t countA = 0;
  uint16_t countB = 0;
  Label label = Label::identical;
  Difference difference = Difference::none;
  Method method = Method::none;
  bool expected = false;        ///< a difference with a known, harmless reason (see explanation)
  float confidence = 0;         ///< that this pair and its label are right
  float error = 0;              ///< relative error of the worst output; NaN unknown
  float inherited = 0;          ///< relative error of the worst input
  float ulp = 0;                ///< of the worst output; NaN unknown
  int32_t operandA = -1;        ///< index in a.ops.operands of the operand that decided, or -1
  int32_t operandB = -1;
};

struct Side {
  std::string path;
  OpTable ops;  ///< all ops that were read
  int64_t kernels = 0;
  bool complete = false;
  Coverage coverage;
  std::shared_ptr<Reader> reader;  ///< for names, stacks, fingerprints
};

struct EnvironmentDifference {
  std::string key;
  std::string a;
  std::string b;
};

struct Counts {
  int64_t pairs = 0, identical = 0, within = 0, origin = 0, propagated = 0, healed = 0,
          structural = 0, source = 0, opaque = 0;
};

/// What renderers print of one origin, resolved from pairs and readers.
struct OriginSide {
  OpId id;
  std::string op;      ///< "aten::elu"
  std::string kernel;  ///< "" where it is not a kernel
  Stack stack;
};
struct Origin {
  int32_t pair = -1;
  int32_t inside = -1;  ///< which op of a kernel that was opened; -1: the pair as a whole
  Label label = Label::origin;
  std::string op;
  std::vector<std::string> ops;  ///< all original ops of the group
  int32_t step = 0;
  Phase phase = Phase::other;
  std::string module;
  std::string moduleClass;
  int32_t rank = 0;
  std::optional<OriginSide> a;
  std::optional<OriginSide> b;
  Role operandRole = Role::output;
  int32_t operandIndex = 0;
  DType operandDType = DType::Undefined;
  std::vector<int64_t> operandShape;
  Difference difference = Difference::unknown;
  bool expected = false;
  double relativeError = std::numeric_limits<double>::quiet_NaN();
  double ulp = std::numeric_limits<double>::quiet_NaN();
  double confidence = 0;
  Method alignment = Method::none;
  int32_t inputsIdentical = 0;
  int32_t inputs = 0;
  double share = 0;         ///< of the final error that this adds (dominant); NaN unknown
  std::string explanation;  ///< one sentence
};

/// Do both tell of the same op? A kernel that was opened may have several origins.
inline bool isSame(const Origin& x, const Origin& y) {
  return x.pair == y.pair && x.inside == y.inside;
}

struct DiffContext;  // diff/context.h

struct DiffResult {
  Side a;
  Side b;
  std::vector<EnvironmentDifference> environment;
  Verdict verdict = Verdict::identical;
  std::string notComparableReason;  ///< for Verdict::notComparable
  std::vector<Pair> pairs;          ///< in program order (A's, gaps of B where they occur)
  std::vector<uint32_t> membersA;   ///< op indices of all pairs, flat
  std::vector<uint32_t> membersB;
  std::optional<Origin> first;
  std::optional<Origin> dominant;
  std::vector<Origin> frontier;
  Counts counts;
  bool budgetExceeded = false;  ///< some stretch was aligned coarsely
  std::vector<std::string> notes;  ///< what the reader should know, a sentence each
  std::shared_ptr<const DiffContext> context;  ///< the engine's own, for describe()

  std::span<const uint32_t> opsA(const Pair& p) const { return {membersA.data() + p.firstA, p.countA}; }
  std::span<const uint32_t> opsB(const Pair& p) const { return {membersB.data() + p.firstB, p.countB}; }
};

}  // namespace ulpscope
