// What the preload stub calls, which knows the recorder by name only.

#include <string>

#include "dispatch_hook/recorder.h"
#include "dispatch_hook/session.h"

namespace {
constexpr char kKey = 0;
}

extern "C" {

/// Null, or why recording did not start.
ULPSCOPE_API const char* ulpscope_record_from_environment() {
  static std::string why;
  why = ulpscope::startRecording(ulpscope::optionsFromEnvironment());
  return why.empty() ? nullptr : why.c_str();
}

ULPSCOPE_API void ulpscope_enter_optimizer(const char* name) {
  using namespace ulpscope;
  Session* session = current();
  ThreadState* thread = session == nullptr ? nullptr : joinedThread(*session);
  if (thread == nullptr) return;
  try {
    thread->push(RegionKind::optimizer, name, {}, -1, &kKey);
  } catch (...) {
    session->failed("optimizer", "its step is not marked");
  }
}

ULPSCOPE_API void ulpscope_leave_optimizer() {
  using namespace ulpscope;
  Session* session = current();
  ThreadState* thread = session == nullptr ? nullptr : joinedThread(*session);
  if (thread == nullptr) return;
  thread->pop(&kKey);
  session->optimizerStepEnded();
}

}  // extern "C"
