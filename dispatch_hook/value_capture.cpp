#include "dispatch_hook/value_capture.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

#include "dispatch_hook/glob.h"
#include "dispatch_hook/session.h"
#include "fingerprint/strided_reader.h"
#include "store/format.h"
#include "store/writer.h"

namespace ulpscope {

namespace {

// What a small tensor costs, in the file and in the set of those that are there.
constexpr int64_t kLeastBytes = 512;

int64_t costOf(const TensorValues& values) { return std::max(values.bytes, kLeastBytes); }

void submit(Writer& writer, OpId at, const TensorValues& values) {
  const int64_t elementBytes = info(values.view.dtype).bytes;
  StridedReader reader(values.view);
  if (reader.elements() * elementBytes != values.bytes) return;
  const int64_t perPart = kCapturePartBytes / elementBytes;
  for (int64_t first = 0, part = 0; first < reader.elements(); first += perPart, ++part) {
    const int64_t count = std::min(perPart, reader.elements() - first);
    std::vector<std::byte> bytes(size_t(count * elementBytes));
    const void* read = reader.next(count, bytes.data());
    if (read != bytes.data()) std::memcpy(bytes.data(), read, bytes.size());
    writer.capture(at, values.digest, part, values.bytes, std::move(bytes));
  }
}

}  // namespace

ValueCapture::ValueCapture(const RecorderOptions& options)
    : first_(options.captureFirst),
      limit_(std::max<int64_t>(0, options.captureLimit)),
      globs_(options.capture) {}

bool ValueCapture::matches(std::string_view name) const {
  return std::any_of(globs_.begin(), globs_.end(),
                     [&](const std::string& glob) { return globMatches(glob, name); });
}

void ValueCapture::note(SchemaId id, const Schema& schema) {
  if (!byName() || !id || !matches(schema.name)) return;
  const std::lock_guard guard(lock_);
  schemas_.insert(id.value);
}

void ValueCapture::note(ProvenanceId id, const Provenance& provenance) {
  if (!byName() || !id) return;
  const bool any = std::any_of(provenance.sources.begin(), provenance.sources.end(),
                               [&](const SourceOp& source) { return matches(source.op); });
  if (!any) return;
  const std::lock_guard guard(lock_);
  provenances_.insert(id.value);
}

bool ValueCapture::noted(SchemaId schema, ProvenanceId provenance) noexcept {
  if (!byName()) return false;
  const std::lock_guard guard(lock_);
  return schemas_.contains(schema.value) || provenances_.contains(provenance.value);
}

bool ValueCapture::wantsKernel(SchemaId schema, ProvenanceId provenance) noexcept {
  if (noted(schema, provenance)) return true;
  if (!first_) return false;
  try {
    const std::lock_guard guard(lock_);
    return sites_.insert(provenance.value).second;
  } catch (...) {
    return false;
  }
}

/// Charges what is new in frame.values, and takes the rest out of it.
bool ValueCapture::admit(OpFrame& frame, int64_t later) {
  const std::lock_guard guard(lock_);
  std::erase_if(frame.values, [&](const TensorValues& values) {
    return values.bytes == 0 || kept_.contains(values.digest);
  });
  int64_t needed = later;
  for (const TensorValues& values : frame.values) needed += costOf(values);
  if (needed > limit_ - used_) {
    ++leftOut_;
    return false;
  }
  std::erase_if(frame.values, [&](const TensorValues& values) {
    if (!kept_.insert(values.digest).second) return true;
    used_ += costOf(values);
    return false;
  });
  return true;
}

void ValueCapture::leaveOut(Session& session, OpId at, int64_t needed) {
  {
    const std::lock_guard guard(lock_);
    if (leftOut_ != 1) return;
  }
  if (Writer* writer = session.writerIfCreated()) {
    writer->event(at, "capture",
                  "{\"left_out\": \"limit\", \"limit\": " + std::to_string(limit_) +
                      ", \"needed\": " + std::to_string(needed) +
                      ", \"text\": \"the values of this call and of others do not fit; raise "
                      "--capture-limit to have them\"}");
  }
}

bool ValueCapture::keep(Session& session, OpFrame& frame, int64_t later) noexcept {
  bool kept = false;
  try {
    Writer* writer = session.writerIfCreated();
    if (writer != nullptr && writer->capturing()) {
      kept = admit(frame, later);
      if (!kept) {
        int64_t needed = later;
        for (const TensorValues& values : frame.values) needed += costOf(values);
        leaveOut(session, frame.op.id, needed);
      } else {
        for (const TensorValues& values : frame.values) submit(*writer, frame.op.id, values);
      }
    }
  } catch (...) {
    session.failed("capture", "out of memory");
  }
  frame.values.clear();
  return kept;
}

int64_t ValueCapture::room() noexcept {
  const std::lock_guard guard(lock_);
  return limit_ - used_;
}

void ValueCapture::report(Writer& writer) {
  if (!first_ && !byName()) return;
  const std::lock_guard guard(lock_);
  writer.meta("captured_tensors", std::to_string(kept_.size()));
  writer.meta("captured_bytes", std::to_string(used_));
  if (leftOut_ != 0) writer.meta("capture_left_out", std::to_string(leftOut_));
}

}  // namespace ulpscope
