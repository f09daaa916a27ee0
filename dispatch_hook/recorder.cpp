#include "dispatch_hook/recorder.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>

#include "dispatch_hook/native/taps.h"
#include "dispatch_hook/session.h"

namespace ulpscope {

namespace {

// Leaked, so that a thread which outlives static destruction still finds it.
std::mutex& control() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}
uint64_t generations = 0;  // guarded by control()

// A forked child has no writer thread and a copy of every lock as it was. It stays silent: it lets go
// of the recording and touches nothing that another thread may have held.
void beforeFork() {
  control().lock();
  lockThreads();
}
void afterForkInParent() {
  unlockThreads();
  control().unlock();
}
void afterForkInChild() {
  unlockThreads();
  control().unlock();
  Session* session = currentSession.exchange(nullptr);
  if (session != nullptr) session->abandonAfterFork();
}

void stopAtExit() { stopRecording(); }

}  // namespace

std::string startRecording(const RecorderOptions& options) noexcept {
  try {
    const std::lock_guard guard(control());
    if (current() != nullptr) {
      return "this process is being recorded already; stop that recording first";
    }
    if (options.path.empty()) return "no path for the trace was given";
    static const bool once = [] {
      pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
      std::atexit(stopAtExit);
      return true;
    }();
    (void)once;
    auto* session = new Session(options, ++generations);
    if (options.replace) {
      std::string why = session->open();
      if (!why.empty()) return why;
    }
    currentSession.store(session, std::memory_order_release);
    installObserver();
    native::installTaps();
    return {};
  } catch (const std::exception& error) {
    currentSession.store(nullptr);
    return error.what();
  } catch (...) {
    currentSession.store(nullptr);
    return "unknown failure";
  }
}

std::string stopRecording() noexcept {
  try {
    const std::lock_guard guard(control());
    Session* session = currentSession.exchange(nullptr);
    removeObserver();
    return session == nullptr ? std::string() : session->finish();
  } catch (...) {
    return {};
  }
}

bool recording() noexcept { return current() != nullptr; }

void nextStep() noexcept {
  if (Session* session = current()) session->nextStep();
}

Recorder::Recorder(const std::string& path) : Recorder([&] {
        RecorderOptions options;
        options.path = path;
        return options;
      }()) {}

Recorder::Recorder(const RecorderOptions& options) {
  const std::string why = startRecording(options);
  if (!why.empty()) throw std::runtime_error("ulpscope: " + why);
}

Recorder::~Recorder() { stopRecording(); }

Scope::Scope(std::string_view name) {
  try {
    Session* session = current();
    if (session == nullptr) return;
    if (ThreadState* thread = joinedThread(*session)) {
      thread->push(RegionKind::scope, name, {}, -1, this);
    }
  } catch (...) {
  }
}

Scope::~Scope() {
  Session* session = current();
  ThreadState* thread = session == nullptr ? nullptr : threadState();
  if (thread != nullptr && thread->session == session) thread->pop(this);
}

}  // namespace ulpscope
