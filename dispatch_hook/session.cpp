#include "dispatch_hook/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "dispatch_hook/follower.h"
#include "dispatch_hook/glob.h"
#include "dispatch_hook/json_text.h"
#include "dispatch_hook/storage_table.h"
#include "dispatch_hook/value_capture.h"
#include "store/error.h"

namespace ulpscope {

namespace {

constexpr size_t kSubmitBytes = 128 * 1024;

/// "run.ulps" and "rank3" -> "run.rank3.ulps".
std::string withMark(const std::string& path, const std::string& mark) {
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) {
    return path + "." + mark;
  }
  return path.substr(0, dot) + "." + mark + path.substr(dot);
}

std::string rankMark() {
  const char* rank = std::getenv("RANK");
  const char* world = std::getenv("WORLD_SIZE");
  if (rank == nullptr || world == nullptr || std::atoi(world) <= 1) return {};
  return "rank" + std::to_string(std::atoi(rank));
}

/// Of several ranks each follows its own trace of the reference, where there is one.
std::string referenceOfRank(const std::string& path) {
  const std::string mark = rankMark();
  const std::string own = mark.empty() ? path : withMark(path, mark);
  return access(own.c_str(), R_OK) == 0 ? own : path;
}

}  // namespace

Session::Session(const RecorderOptions& o, uint64_t g)
    : options(o),
      generation(g),
      level(Level(std::clamp(o.level, 0, 2))),
      filtered(!o.include.empty() || !o.exclude.empty()),
      storages_(std::make_unique<StorageTable>()),
      values_(std::make_unique<ValueCapture>(o)),
      follower_(o.against.empty() ? nullptr
                                  : std::make_unique<Follower>(referenceOfRank(o.against))) {}

bool Session::wanted(std::string_view op) const {
  auto matches = [&](const std::string& glob) { return globMatches(glob, op); };
  const bool in = options.include.empty() ||
                  std::any_of(options.include.begin(), options.include.end(), matches);
  return in && std::none_of(options.exclude.begin(), options.exclude.end(), matches);
}

std::string Session::createFile() {
  const std::string mark = rankMark();
  std::string path = mark.empty() ? options.path : withMark(options.path, mark);
  Writer::Options how;
  how.overwrite = options.replace;
  Writer* made = nullptr;
  try {
    made = new Writer(path, how);
  } catch (const TraceError& error) {
    if (error.code() != TraceError::Code::exists) return error.what();
    try {
      made = new Writer(withMark(path, std::to_string(getpid())), how);
    } catch (const std::exception& again) {
      return again.what();
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  made->onTick([this] { collect(); });
  made->meta("level", options.level == 0 ? "digest" : options.level == 1 ? "stats" : "full");
  made->meta("inputs", options.inputs == InputMode::always    ? "always"
                       : options.inputs == InputMode::tracked ? "tracked"
                                                              : "off");
  auto list = [](const std::vector<std::string>& globs) {
    std::string text;
    for (const std::string& glob : globs) text += (text.empty() ? "" : ":") + glob;
    return text;
  };
  const std::string names = list(options.capture);
  made->meta("capture", names.empty() ? (options.captureFirst ? "first" : "none")
                                      : (options.captureFirst ? "first:" + names : names));
  made->meta("capture_limit", std::to_string(options.captureLimit));
  if (follower_ != nullptr) made->meta("against", follower_->path());
  if (filtered) {
    made->meta("include", list(options.include));
    made->meta("exclude", list(options.exclude));
  }
  if (options.firstStep != 0 || options.lastStep != INT64_MAX) {
    made->meta("steps",
               std::to_string(options.firstStep) + ":" + std::to_string(options.lastStep));
  }
  recordEnvironment(*made);
  settings_ = changeableSettings();
  firstThread_ = std::this_thread::get_id();
  for (const Early& said : early_) tell(*made, said);
  early_.clear();
  ready_.store(made, std::memory_order_release);
  return {};
}

void Session::compareSettings(int32_t step) noexcept {
  if (std::this_thread::get_id() != firstThread_) return;
  lookedInStep_.store(step, std::memory_order_relaxed);
  try {
    std::vector<KeyValue> now = changeableSettings();
    for (size_t i = 0; i < now.size() && i < settings_.size(); ++i) {
      if (now[i].value == settings_[i].value) continue;
      event("setting", "{\"key\": " + jsonText(now[i].key) + ", \"from\": " +
                           jsonText(settings_[i].value) + ", \"to\": " + jsonText(now[i].value) +
                           "}");
    }
    settings_ = std::move(now);
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Session::tell(Writer& writer, const Early& said) {
  switch (said.kind) {
    case Early::Kind::environment:
      return writer.environment(said.first, said.second);
    case Early::Kind::meta:
      return writer.meta(said.first, said.second);
    case Early::Kind::event:
      return writer.event(lastOp(), said.first, said.second);
  }
}

void Session::say(Early::Kind kind, std::string_view first, std::string_view second) {
  Early said{kind, std::string(first), std::string(second)};
  if (writerIfCreated() == nullptr) {
    const std::lock_guard guard(mutex_);
    if (writerIfCreated() == nullptr) {
      if (!closed) early_.push_back(std::move(said));
      return;
    }
  }
  tell(*writerIfCreated(), said);
}

void Session::environment(std::string_view key, std::string_view value) {
  say(Early::Kind::environment, key, value);
}
void Session::meta(std::string_view key, std::string_view value) {
  say(Early::Kind::meta, key, value);
}
void Session::event(std::string_view kind, std::string_view json) {
  say(Early::Kind::event, kind, json);
}

void Session::notSeen(std::string_view reason) {
  std::string all = "not seen: ";
  {
    const std::lock_guard guard(mutex_);
    if (std::ranges::find(notSeen_, reason) != notSeen_.end()) return;
    notSeen_.emplace_back(reason);
    for (const std::string& each : notSeen_) all += (&each == notSeen_.data() ? "" : "; ") + each;
  }
  meta("kernels", all);
}

void Session::flush() {
  collect();
  if (Writer* writer = writerIfCreated()) writer->flush();
}

std::string Session::open() noexcept {
  const std::lock_guard guard(mutex_);
  if (writerIfCreated() != nullptr || closed) return {};
  std::string why;
  try {
    why = createFile();
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
    why = "unknown failure";
  }
  if (!why.empty()) closed = true;
  return why;
}

Writer* Session::createWriter() noexcept {
  const std::string why = open();
  if (!why.empty()) std::fprintf(stderr, "ulpscope: nothing is recorded: %s\n", why.c_str());
  return writerIfCreated();
}

void Session::optimizerStepEnded() noexcept {
  if (!explicitSteps_.load(std::memory_order_relaxed)) {
    stepEnded_.store(true, std::memory_order_relaxed);
  }
  sawBackward.store(false, std::memory_order_relaxed);
}

void Session::nextStep() noexcept {
  explicitSteps_.store(true, std::memory_order_relaxed);
  stepEnded_.store(false, std::memory_order_relaxed);
  step_.fetch_add(1, std::memory_order_relaxed);
}

uint32_t Session::addThread(uint64_t torchThread) {
  const std::lock_guard guard(mutex_);
  const uint32_t number = threadCount_++;
  threads_[torchThread] = number;
  return number;
}

uint32_t Session::threadNumber(uint64_t torchThread) {
  const std::lock_guard guard(mutex_);
  const auto found = threads_.find(torchThread);
  return found == threads_.end() ? 0 : found->second;
}

void Session::append(ThreadState& thread, const RawOp& op, std::span<const std::byte> scalars,
                     std::span<const std::byte> operands) noexcept {
  EventBuffer full;
  {
    const std::lock_guard guard(thread.lock);
    if (closed.load(std::memory_order_relaxed)) return;
    try {
      if (thread.buffer.empty()) thread.buffer.reserve(kSubmitBytes + kSubmitBytes / 4);
      thread.buffer.addOp(op, scalars);
      thread.buffer.addBytes(operands);
    } catch (...) {
      failures_.fetch_add(1, std::memory_order_relaxed);
    }
    if (thread.buffer.size() < kSubmitBytes) return;
    full.swap(thread.buffer);
  }
  // Outside the lock: submit may wait for the writer's thread, which takes the lock to collect.
  if (Writer* writer = writerIfCreated()) writer->submit(full);
}

void Session::append(ThreadState& thread, const RawRegion& region) noexcept {
  const std::lock_guard guard(thread.lock);
  if (closed.load(std::memory_order_relaxed)) return;
  try {
    thread.buffer.addRegion(region);
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Session::drain(ThreadState& thread) noexcept {
  EventBuffer rest;
  {
    const std::lock_guard guard(thread.lock);
    rest.swap(thread.buffer);
  }
  if (rest.empty()) return;
  if (Writer* writer = writerIfCreated()) writer->submit(rest);
}

void Session::collect() noexcept {
  struct Taken {
    Session* self;
    std::vector<EventBuffer> buffers;
  } taken{this, {}};
  try {
    forEachThread(
        [](ThreadState& thread, void* context) {
          auto& into = *static_cast<Taken*>(context);
          if (thread.session.load(std::memory_order_acquire) != into.self) return;
          const std::lock_guard guard(thread.lock);
          if (!thread.buffer.empty()) into.buffers.emplace_back().swap(thread.buffer);
        },
        &taken);
  } catch (...) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  // After the list of threads is unlocked, for submit may wait for the writer's thread.
  if (Writer* writer = writerIfCreated()) {
    for (EventBuffer& buffer : taken.buffers) writer->submit(buffer);
  }
}

void Session::failed(const char* where, const char* what) noexcept {
  if (failures_.fetch_add(1, std::memory_order_relaxed) >= 20) return;
  try {
    if (Writer* writer = writerIfCreated()) {
      writer->event(lastOp(), "message",
                    "{\"where\": " + jsonText(where) + ", \"failure\": " + jsonText(what) + "}");
    }
  } catch (...) {
  }
}

std::string Session::finish(bool complete) noexcept {
  if (writerIfCreated() != nullptr) compareSettings(INT32_MAX);
  closed = true;
  collect();
  std::string path;
  try {
    const std::lock_guard guard(mutex_);
    if (Writer* writer = writerIfCreated()) {
      if (const uint64_t failures = failures_.load(); failures != 0) {
        writer->meta("recorder_failures", std::to_string(failures));
      }
      values_->report(*writer);
      if (complete) {
        writer->finish();
      } else {
        writer->cutShort();
      }
      path = writer->path();
      const std::string error = writer->error();
      if (!error.empty()) std::fprintf(stderr, "ulpscope: the trace is cut short: %s\n", error.c_str());
    }
    storages_->clear();
  } catch (...) {
  }
  return path;
}

void Session::abandonAfterFork() noexcept {
  closed = true;
  if (Writer* writer = writerIfCreated()) writer->abandonAfterFork();
}

}  // namespace ulpscope
