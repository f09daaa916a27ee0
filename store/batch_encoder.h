#pragma once

#include <span>
#include <vector>

#include "store/compression.h"
#include "store/coverage_counter.h"
#include "store/event_buffer.h"
#include "store/event_reader.h"
#include "store/op_packing.h"
#include "store/recent_map.h"
#include "store/trace_file.h"

namespace ulpscope {

/// Turns buffers of raw events into rows of a trace: ops sorted by id and cut into chunks, types,
/// scalars and fingerprints interned, coverage counted. Memory is bounded by the largest batch.
class BatchEncoder {
 public:
  explicit BatchEncoder(TraceFile& file) : file_(file) {}

  /// Throws Malformed for a buffer that is not what EventBuffer writes, TraceError from the file.
  /// After either, the encoder is not to be used again.
  void write(std::span<const EventBuffer> buffers);

  Coverage coverage() const { return coverage_.result(); }

 private:
  void writeOp(const EventReader::OpRecord& record);
  Operand operand(const OperandRecord& record);
  TypeId type(const OperandRecord& record);
  ScalarsId scalars(std::span<const std::byte> packed);
  FingerprintId fingerprint(DType dtype, const Fingerprint& fingerprint);
  void endOps();
  void endRegions();
  void endFingerprints();

  TraceFile& file_;
  CoverageCounter coverage_;
  Compressor compressor_;

  RecentMap types_{1 << 14};
  RecentMap scalars_{1 << 14};
  RecentMap fingerprints_{1 << 17};
  uint32_t lastType_ = 0;
  uint32_t lastScalars_ = 0;
  int64_t lastFingerprint_ = 0;

  std::vector<EventReader::OpRecord> batch_;
  OperandRecord operand_;
  OpChunkPacker ops_;
  RegionChunkPacker regions_;
  int64_t fingerprintCount_ = 0;  ///< in the chunk that is being built
  ByteWriter digests_;
  ByteWriter rests_;
  ByteWriter scratch_;
  ByteWriter scratchOperands_;
};

}  // namespace ulpscope
