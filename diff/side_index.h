#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "diff/mapping.h"
#include "diff/op_facts.h"
#include "diff/result.h"

namespace ulpscope {

/// 64-bit hash of text, the same in every process. Never 0.
uint64_t hashText(std::string_view text);
/// Order-dependent mix of two hashes.
uint64_t mix(uint64_t seed, uint64_t value);

/// Where an op belongs in the program, hashed so that two traces can be compared.
struct Place {
  uint64_t path = 0;   ///< normalised module path; 0: none
  uint64_t leaf = 0;   ///< class of the module, or its last named component
};

/// What the engine works with beside the op table of one trace: every interned record hashed once,
/// so that one op costs a few look-ups. Needs the side's op table (its buffers) to outlive it.
class SideIndex {
 public:
  /// `asA`: for side B, renames its modules and operators to A's; null for side A.
  SideIndex(const Side& side, const Mapping* asA);

  std::span<const Op> ops() const { return ops_; }
  std::span<const Operand> operands() const { return operands_; }
  std::span<const Operand> operandsOf(const Op& op) const {
    return operands_.subspan(op.firstOperand, op.operandCount);
  }
  const Reader& reader() const { return *reader_; }
  size_t size() const { return ops_.size(); }
  const Schema& schema(const Op& op) const { return reader_->schema(op.schema); }
  const OpFacts& facts(const Op& op) const { return facts_[op.schema.value]; }

  uint64_t name(const Op& op) const { return names_[op.schema.value]; }      ///< of the base name
  uint64_t variant(const Op& op) const { return variants_[op.schema.value]; } ///< exact, overload too
  uint64_t scalars(const Op& op) const { return scalars_[op.scalars.value]; }
  /// Source line; of a backward op its forward op's.
  uint64_t line(size_t op) const { return lines_[wherePlaced(op).stack.value]; }
  uint64_t type(TypeId id) const { return types_[id.value]; }  ///< dtype and sizes
  uint64_t rank(TypeId id) const { return ranks_[id.value]; }  ///< dtype and number of dimensions
  Place place(size_t op) const;
  /// The same hashes for an original op of a kernel.
  Place place(const SourceOp& source) const;
  uint64_t name(const SourceOp& source) const;
  OpFacts facts(const SourceOp& source) const;

  /// Does this storage hold a parameter (or a view of one)?
  bool isParameter(StorageId storage) const { return parameters_.contains(storage.value); }

  /// Index of an op by its id, or -1.
  int32_t indexOf(OpId id) const;
  /// The forward op that a backward op differentiates, or -1.
  int32_t forwardOf(size_t op) const { return forward_[op]; }
  /// Qualified name and class of the innermost module, resolved for people.
  std::pair<std::string, std::string> module(size_t op) const;
  /// The stack of an op; of a backward op the forward op's (the backward's own is the call of
  /// backward()).
  const Stack& stack(size_t op) const;
  /// The compiled region that encloses this op (or that it is), or -1.
  int32_t compiledRegion(size_t op) const;

 private:
  const Op& wherePlaced(size_t op) const;
  void hashTables();
  void linkBackward();

  // Spans, not the side itself: a DiffResult may be moved, the buffers stay.
  std::span<const Op> ops_;
  std::span<const Operand> operands_;
  std::shared_ptr<Reader> reader_;
  const Mapping* asA_;
  std::vector<OpFacts> facts_;
  std::vector<uint64_t> names_, variants_, scalars_, lines_, types_, ranks_;
  std::vector<Place> places_;           // by region id
  std::vector<int32_t> moduleRegion_;   // by region id: index in regions() of the module, or -1
  std::vector<int32_t> forward_;
  std::unordered_set<int64_t> parameters_;  // storages
  bool dense_ = false;  // ids are 1..n without gaps
};

/// A module path in the form that two runs are likely to share: without the wrappers that
/// torch.compile, DataParallel and FSDP put in ("_orig_mod", "module", "_fsdp_wrapped_module").
std::string normalisedPath(std::string_view path);

Place placeOf(std::string_view path, std::string_view moduleClass);
/// The innermost frame outside torch, or the innermost of all; null where there is none.
const Frame* userFrame(const Stack& stack);
uint64_t lineOf(const Stack& stack);

}  // namespace ulpscope
