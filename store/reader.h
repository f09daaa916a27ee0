#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/error.h"
#include "store/records.h"

namespace ulpscope {

/// Ops with their operands, in the order of OpId; flat, so that a million fit in about 200 MB.
struct OpTable {
  std::vector<Op> ops;
  std::vector<Operand> operands;
  std::span<const Operand> of(const Op& op) const {
    return {operands.data() + op.firstOperand, op.operandCount};
  }
};

/// Reads one trace, complete, cut short or still being written. Throws TraceError from the
/// constructor and from any call that meets a damaged page; no input crashes it. One Reader is used
/// by one thread at a time; several Readers may read one file.
class Reader {
 public:
  explicit Reader(const std::string& path);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  const std::string& path() const;
  int formatVersion() const;
  int fingerprintVersion() const;
  bool complete() const;  ///< the clean-end mark is there
  std::string meta(const std::string& key) const;  ///< "" where absent
  const std::vector<KeyValue>& environment() const;
  Coverage coverage() const;  ///< from the end mark, or counted afresh where the trace is cut short
  std::vector<Event> events() const;

  int64_t opCount() const;   ///< rows, all kinds
  OpId lastOp() const;

  // Interned tables: loaded at the first use, stable references after. An id that the file lacks
  // gives an empty record.
  const Schema& schema(SchemaId id) const;
  const TensorType& type(TypeId id) const;
  const Stack& stack(StackId id) const;
  const Provenance& provenance(ProvenanceId id) const;
  const std::vector<Scalar>& scalars(ScalarsId id) const;
  const Region& region(RegionId id) const;
  const std::vector<Region>& regions() const;  ///< in order of id
  int64_t schemaCount() const;

  /// Appends to `out` the ops with first <= id, at most `limit` of them, in order of id.
  void readOps(OpId first, int64_t limit, OpTable& out) const;
  OpTable readAll() const;
  /// Ops of one step, in order of id.
  OpTable readStep(int32_t step) const;
  std::vector<int32_t> steps() const;

  Digest digest(FingerprintId id) const;  ///< kept in memory, as far as the highest asked for
  Fingerprint fingerprint(FingerprintId id) const;

  /// Are the values of tensors with this fingerprint in the trace? Whatever was captured, each
  /// operand with the same elements has them. False for operands of no element.
  bool captured(FingerprintId id) const;
  /// Those values: the logical elements in row-major order, resolved of lazy conjugation and
  /// negation. Nothing where they are not there.
  std::optional<std::vector<std::byte>> values(FingerprintId id) const;

  /// The innermost enclosing module of an op: by its region, or in backward by the region of its
  /// forward op (found by sequence and thread). {name, class}; empty where there is none.
  std::pair<std::string, std::string> module(const Op& op) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ulpscope
