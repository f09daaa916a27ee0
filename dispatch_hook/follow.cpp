#include "dispatch_hook/follow.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "dispatch_hook/follower.h"
#include "dispatch_hook/json_text.h"
#include "dispatch_hook/operands.h"
#include "dispatch_hook/value_capture.h"
#include "fingerprint/strided_reader.h"
#include "store/event_reader.h"

namespace ulpscope {

namespace {

std::atomic<instrument::DivergenceHandler> divergenceHandler{nullptr};

namespace weak = c10::raw::weak_intrusive_ptr;

c10::TensorImpl* tensorOf(const TensorValues& values) {
  return static_cast<c10::TensorImpl*>(values.impl);
}

/// The module region that the thread is in, "" where none is known.
std::string_view moduleAround(const ThreadState& thread, const RawOp& op) {
  if (op.phase == Phase::backward) return {};
  for (size_t i = thread.regionDepth; i != 0; --i) {
    if (thread.regions[i - 1].kind == RegionKind::module) return thread.regions[i - 1].name;
  }
  return {};
}

void copyInput(OpFrame& frame, HeldInput& held) {
  StridedReader reader(held.values.view);
  held.copied = true;
  // Aligned, as the reader asks for.
  held.at = (frame.copies.size() + 15) / 16 * 16;
  frame.copies.resize(held.at + size_t(held.values.bytes));
  void* to = frame.copies.data() + held.at;
  const void* from = reader.next(reader.elements(), to);
  if (from != to) std::memcpy(to, from, size_t(held.values.bytes));
}

void hold(Session& session, OpFrame& frame) {
  const int64_t room = session.values().room();
  for (const TensorValues& values : frame.values) {
    if (values.bytes == 0) continue;
    HeldInput held{values};
    if (values.role == Role::before) {
      if (int64_t(frame.copies.size()) + values.bytes > room) {
        frame.heldAll = false;
        continue;
      }
      copyInput(frame, held);
    }
    weak::incref(tensorOf(values));
    frame.held.push_back(held);
  }
}

/// What was held and still is what the op read, into frame.values. False where something is lost.
bool recallInputs(OpFrame& frame) {
  bool all = frame.heldAll;
  for (HeldInput& held : frame.held) {
    TensorValues values = held.values;
    if (held.copied) {
      held.elements = values.bytes / info(values.view.dtype).bytes;
      values.view = {.data = frame.copies.data() + held.at,
                     .dtype = values.view.dtype,
                     .dim = 1,
                     .sizes = &held.elements};
    } else if (weak::use_count(tensorOf(values)) == 0 || !stillHolds(values)) {
      all = false;
      continue;
    }
    frame.values.push_back(values);
  }
  return all;
}

/// A contiguous copy with the shape that the operand had.
at::Tensor copyOf(const OpFrame& frame, const TensorValues& values) {
  std::vector<int64_t> sizes(values.view.sizes, values.view.sizes + 1);
  OperandRecord record;
  for (ByteReader in(frame.operands.bytes()); !in.empty();) {
    readOperand(in, record);
    const RawOperand& raw = record.operand;
    if (raw.role == values.role && raw.arg == values.arg && raw.item == values.item) {
      sizes = record.sizes;
    }
  }
  const auto options = at::TensorOptions().dtype(c10::ScalarType(values.view.dtype));
  return at::from_blob(const_cast<void*>(values.view.data), sizes, options).clone();
}

/// All that can still be had, as tensors.
void addOperands(const OpFrame& frame, std::vector<instrument::DivergentOperand>& operands) {
  for (const TensorValues& values : frame.values) {
    at::Tensor tensor =
        values.role == Role::before
            ? copyOf(frame, values)
            : at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(tensorOf(values)));
    operands.push_back({values.role, values.arg, values.item, std::move(tensor)});
  }
}

const char* roleName(Role role) { return role == Role::after ? "after" : "output"; }

std::string lineFor(const RawOp& op, std::string_view name, const Followed& followed,
                    bool captured) {
  std::string line = "parts from the reference at #" + std::to_string(op.id.value);
  if (!name.empty()) line += " " + std::string(name);
  line += ", " + std::string(roleName(followed.role)) + " " + std::to_string(followed.arg);
  line += " (reference #" + std::to_string(followed.reference.value) + "); ";
  line += followed.verdict == Followed::Verdict::origin
              ? "all that it read is in the reference"
              : "it read what the reference does not have";
  return line + (captured ? "; its values are in the trace" : "");
}

std::string eventFor(const RawOp& op, const Followed& followed, bool first, bool captured) {
  return "{\"op\": " + std::to_string(op.id.value) +
         ", \"reference\": " + std::to_string(followed.reference.value) + ", \"role\": \"" +
         roleName(followed.role) + "\", \"arg\": " + std::to_string(followed.arg) +
         ", \"item\": " + std::to_string(followed.item) + ", \"inputs\": \"" +
         (followed.verdict == Followed::Verdict::origin ? "agree" : "differ") +
         "\", \"first\": " + (first ? "true" : "false") +
         ", \"captured\": " + (captured ? "true" : "false") + "}";
}

}  // namespace

namespace instrument {
void setDivergenceHandler(DivergenceHandler handler) noexcept { divergenceHandler.store(handler); }
}  // namespace instrument

void holdInputs(Session& session, OpFrame& frame, int64_t later) {
  const bool follows = session.follower() != nullptr;
  const bool debugs = follows && session.options.onDivergence == OnDivergence::pdb;
  // What is captured needs no holding but for the debugger.
  if (follows && (!frame.captured || debugs)) hold(session, frame);
  if (frame.captured) frame.captured = session.values().keep(session, frame, later);
  frame.keepsValues = frame.captured || follows;
  frame.values.clear();
}

std::unique_ptr<instrument::Divergence> keepResults(Session& session, ThreadState& thread,
                                                    OpFrame& frame, std::string_view name) {
  if (!frame.keepsValues) return nullptr;
  Followed followed;
  Follower* follower = session.follower();
  if (follower != nullptr) {
    followed =
        follower->judge(frame.op, name, moduleAround(thread, frame.op), frame.operands.bytes());
  }
  const bool parts = followed.verdict == Followed::Verdict::origin ||
                     followed.verdict == Followed::Verdict::carried;
  const bool first = parts && !session.diverged.exchange(true);
  const bool acts = first || followed.verdict == Followed::Verdict::origin;
  if (!acts) {
    if (frame.captured) session.values().keep(session, frame, 0);
    frame.values.clear();
    return nullptr;
  }
  const bool had = frame.captured;
  const bool all = recallInputs(frame);
  std::unique_ptr<instrument::Divergence> divergence;
  if (first && session.options.onDivergence != OnDivergence::capture) {
    divergence = std::make_unique<instrument::Divergence>();
    addOperands(frame, divergence->operands);
  }
  const bool kept = session.values().keep(session, frame, 0);
  const bool captured = kept && (all || had);
  const std::string event = eventFor(frame.op, followed, first, captured);
  session.event("divergence", event);
  if (first) session.meta("divergence", event);
  if (divergence != nullptr) {
    divergence->stops = session.options.onDivergence == OnDivergence::stop;
    divergence->op = frame.op.id;
    divergence->reference = followed.reference;
    divergence->line = lineFor(frame.op, name, followed, captured);
  }
  return divergence;
}

void actOn(Session& session, const instrument::Divergence& divergence) noexcept {
  std::fprintf(stderr, "ulpscope: %s\n", divergence.line.c_str());
  const auto handler = divergenceHandler.load();
  if (handler != nullptr) {
    handler(divergence);
  } else if (!divergence.stops) {
    std::fprintf(stderr, "ulpscope: no Python to debug in; the program goes on\n");
  }
  if (!divergence.stops) return;
  session.finish(false);
  std::fflush(nullptr);
  // Neither destructors nor exit handlers: the program is in the middle of an op.
  _exit(kStoppedAtDivergence);
}

void letInputsGo(OpFrame& frame) noexcept {
  for (const HeldInput& held : frame.held) weak::decref(tensorOf(held.values));
  frame.held.clear();
}

}  // namespace ulpscope
