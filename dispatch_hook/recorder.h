#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch_hook/export.h"

/// The recorder inside a LibTorch process. This header needs no torch: a C++ program includes it,
/// links ulpscope::hook and records itself; Python and the preload stub use it too.
namespace ulpscope {

enum class InputMode : uint8_t {
  always,   ///< fingerprint every input before the op
  tracked,  ///< only inputs that a recorded op did not write, or that may have changed since
  off,
};

/// What happens where a recording that follows a reference parts from it.
enum class OnDivergence : uint8_t {
  capture,  ///< the values of the op are kept, there and at each later op that parts by itself
  stop,     ///< and the program ends, with kStoppedAtDivergence
  pdb,      ///< and a Python program goes into its debugger, once
};
inline constexpr int kStoppedAtDivergence = 100;

struct RecorderOptions {
  std::string path;  ///< of the trace
  InputMode inputs = InputMode::always;
  int level = 2;  ///< 0 digest, 1 statistics, 2 full (fingerprint.h's Level)
  bool stacks = false;  ///< whole stacks; otherwise, in Python, up to the first frame outside torch
  std::vector<std::string> include;  ///< globs on "aten::add"; empty: all
  std::vector<std::string> exclude;
  /// The file is created at the start, in place of one that is there already. Or (as `ulpscope record`
  /// asks, whose child processes all get the same path) it is created by the first op, and where there
  /// is a file already it is left alone, and the trace goes beside it with the process id in its name.
  /// Under a launcher (RANK and WORLD_SIZE > 1) the name carries the rank either way.
  bool replace = true;
  int64_t firstStep = 0;  ///< operands are fingerprinted in steps firstStep <= step < lastStep
  int64_t lastStep = INT64_MAX;
  /// Values that are kept beside the fingerprints: operands of the first call of each call site of a
  /// compiled kernel, and those of each op and kernel whose name, or the name of an op that it
  /// computes, matches one of these globs.
  bool captureFirst = true;
  std::vector<std::string> capture;
  int64_t captureLimit = int64_t{64} << 20;  ///< bytes, before compression
  std::string against;  ///< a trace to follow (dispatch_hook/follower.h); empty: none
  OnDivergence onDivergence = OnDivergence::capture;
};

/// Options from ULPSCOPE_* environment variables, as `ulpscope record` sets them:
/// ULPSCOPE_OUTPUT, _INPUTS, _LEVEL, _STACKS, _INCLUDE and _EXCLUDE (':'-separated), _STEPS (A:B),
/// _CAPTURE (':'-separated: first, none or globs), _CAPTURE_LIMIT (bytes), _AGAINST,
/// _ON_DIVERGENCE.
ULPSCOPE_API RecorderOptions optionsFromEnvironment();

/// Starts recording every op of this process; at most one recording at a time. Returns "" or one
/// line that says why not. Does not throw. The recording ends with stopRecording or at exit.
ULPSCOPE_API std::string startRecording(const RecorderOptions& options) noexcept;
/// Ends the recording and closes the trace. Returns the path written, "" where nothing was recorded.
ULPSCOPE_API std::string stopRecording() noexcept;
ULPSCOPE_API bool recording() noexcept;
/// The step counter: goes up by itself at the first op after an optimizer step, or by this call;
/// after the first explicit call only explicit calls count.
ULPSCOPE_API void nextStep() noexcept;

/// RAII for C++ programs.
class ULPSCOPE_API Recorder {
 public:
  /// Throws std::runtime_error where recording can't start.
  explicit Recorder(const std::string& path);
  explicit Recorder(const RecorderOptions& options);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  void step() { nextStep(); }
};

/// A named region of the program on this thread ("module", "scope").
class ULPSCOPE_API Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace ulpscope
