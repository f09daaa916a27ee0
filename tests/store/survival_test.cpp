#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/raw_events.h"
#include "tests/support/temp_folder.h"

namespace ulpscope {
namespace {

using testing::addSimpleOp;
using testing::TempFolder;

/// Runs `body` in a forked process; its exit status, or minus the signal that ended it.
int inChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (...) {
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void writeOps(Writer& writer, int64_t first, int64_t count) {
  EventBuffer buffer;
  for (int64_t id = first; id < first + count; ++id) addSimpleOp(buffer, id, {1}, 1);
  writer.submit(buffer);
}

/// A killed process's trace with at least `ops` ops.
void leaveCutShort(const std::string& path, int64_t ops) {
  const int status = inChild([&] {
    Writer writer(path, {});
    writer.schema({"aten::op", "", {}, {}});
    writer.meta("command", "train");
    for (int64_t first = 1; first <= ops; first += 100) {
      writeOps(writer, first, 100);
      if (first % 1000 == 1) writer.flush();
    }
    writer.flush();
    writeOps(writer, ops + 1, 100);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  ASSERT_EQ(status, -SIGKILL);
}

void expectWholePrefix(const Reader& reader, int64_t atLeast) {
  const OpTable table = reader.readAll();
  ASSERT_GE(static_cast<int64_t>(table.ops.size()), atLeast);
  for (size_t i = 0; i < table.ops.size(); ++i) {
    ASSERT_EQ(table.ops[i].id.value, static_cast<int64_t>(i + 1));
    const auto operands = table.of(table.ops[i]);
    ASSERT_EQ(operands.size(), 2u);
    ASSERT_EQ(reader.digest(operands[1].fingerprint),
              testing::numberedFingerprint(static_cast<int64_t>(i + 1)).digest);
  }
  EXPECT_EQ(reader.coverage().ops, table.ops.size());
  EXPECT_EQ(reader.schema({1}).name, "aten::op");
}

std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

TEST(Survival, AKilledProcessLeavesAllThatWasCommitted) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  leaveCutShort(path, 5000);
  ASSERT_TRUE(std::filesystem::exists(path + "-wal"));
  const auto before = contents(folder.path());
  {
    const Reader reader(path);
    EXPECT_FALSE(reader.complete());
    EXPECT_EQ(reader.meta("command"), "train");
    expectWholePrefix(reader, 5000);
  }
  const auto after = contents(folder.path());
  EXPECT_EQ(after.at("a.ulps"), before.at("a.ulps"));
  EXPECT_EQ(after.at("a.ulps-wal"), before.at("a.ulps-wal"));
  EXPECT_EQ(after.size(), before.size());
  const Reader again(path);
  expectWholePrefix(again, 5000);
}

TEST(Survival, AKilledTraceReadsWithoutItsSharedMemoryFile) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  leaveCutShort(path, 3000);
  std::filesystem::remove(path + "-shm");  // as when the two others were copied
  const auto before = contents(folder.path());
  {
    const Reader reader(path);
    EXPECT_FALSE(reader.complete());
    expectWholePrefix(reader, 3000);
  }
  EXPECT_EQ(contents(folder.path()), before);
}

TEST(Survival, AKilledTraceReadsWithoutItsLogUpToTheLastCheckpoint) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  leaveCutShort(path, 100000);
  std::filesystem::remove(path + "-shm");
  std::filesystem::remove(path + "-wal");
  const Reader reader(path);
  EXPECT_FALSE(reader.complete());
  expectWholePrefix(reader, 1);
}

TEST(Survival, KilledAtAnyTime) {
  TempFolder folder;
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder.file(std::to_string(round) + ".ulps");
    const pid_t child = ::fork();
    if (child == 0) {
      Writer writer(path, {.flushMilliseconds = 1});
      writer.schema({"aten::op", "", {}, {}});
      for (int64_t first = 1;; first += 50) writeOps(writer, first, 50);
    }
    ::usleep(static_cast<useconds_t>(5000 + 7919 * round % 40000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    try {
      const Reader reader(path);
      EXPECT_FALSE(reader.complete());
      if (reader.opCount() != 0) expectWholePrefix(reader, 1);
    } catch (const TraceError& error) {
      // Killed before the tables were there.
      EXPECT_TRUE(error.code() == TraceError::Code::missing ||
                  error.code() == TraceError::Code::notATrace)
          << error.what();
    }
  }
}

TEST(Survival, ReadOnlyFolderAndFiles) {
  TempFolder folder;
  const std::string finished = folder.file("finished.ulps");
  const std::string killed = folder.file("killed.ulps");
  const std::string bare = folder.file("bare.ulps");
  {
    Writer writer(finished, {});
    writer.schema({"aten::op", "", {}, {}});
    writeOps(writer, 1, 1000);
    writer.finish();
  }
  leaveCutShort(killed, 1000);
  leaveCutShort(bare, 1000);
  std::filesystem::remove(bare + "-shm");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ::chmod(entry.path().c_str(), 0444);
  }
  ::chmod(folder.path().c_str(), 0555);
  const int status = inChild([&] {
    // Root may write everywhere: be somebody else.
    if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 77;
    if (std::ofstream(folder.file("probe"))) return 78;
    for (const std::string& path : {finished, killed, bare}) {
      const Reader reader(path);
      if (reader.readAll().ops.size() < 1000) return 1;
      if (reader.complete() != (path == finished)) return 2;
      if (reader.coverage().ops < 1000) return 3;
    }
    return 0;
  });
  ::chmod(folder.path().c_str(), 0755);
  if (status == 77 || status == 78) GTEST_SKIP() << "can't give up root's rights here";
  EXPECT_EQ(status, 0);
}

TEST(Survival, UnreadableFileIsAPermissionError) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  { Writer writer(path, {}); }
  ::chmod(path.c_str(), 0);
  ::chmod(folder.path().c_str(), 0755);
  const int status = inChild([&] {
    if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 77;
    try {
      Reader reader(path);
    } catch (const TraceError& error) {
      return error.code() == TraceError::Code::permission &&
                     std::string(error.what()).find(path) == 0
                 ? 0
                 : 1;
    }
    return 2;
  });
  if (status == 77) GTEST_SKIP() << "can't give up root's rights here";
  EXPECT_EQ(status, 0);
}

TEST(Survival, AFullDiskStopsWritingAndNothingElse) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  const int status = inChild([&] {
    const rlimit limit{600 * 1024, 600 * 1024};
    ::setrlimit(RLIMIT_FSIZE, &limit);  // and SIGXFSZ at its default: it would end the process
    Writer writer(path, {.queueBytes = 1 << 20});
    writer.schema({"aten::op", "", {}, {}});
    for (int64_t first = 1; first < 200000; first += 100) writeOps(writer, first, 100);
    writer.flush();
    const std::string error = writer.error();
    if (error.find(path) != 0) return 1;
    if (error.find('\n') != std::string::npos) return 2;
    writeOps(writer, 200000, 100);
    writer.finish();
    return writer.error() == error ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
  const Reader reader(path);
  EXPECT_FALSE(reader.complete());
  expectWholePrefix(reader, 0);
}

TEST(Survival, ARemovedFolderStopsWriting) {
  TempFolder folder;
  const std::string inner = folder.file("run");
  std::filesystem::create_directory(inner);
  Writer writer(inner + "/a.ulps", {});
  writeOps(writer, 1, 100);
  writer.flush();
  EXPECT_EQ(writer.error(), "");
  std::filesystem::remove_all(inner);
  writeOps(writer, 101, 100);
  writer.flush();
  EXPECT_NE(writer.error().find("removed"), std::string::npos) << writer.error();
  writeOps(writer, 201, 100);
  writer.finish();
}

TEST(Survival, CreationErrorsSayWhatToDo) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  const auto codeOf = [](const std::string& name, bool overwrite) {
    try {
      Writer writer(name, {.overwrite = overwrite});
    } catch (const TraceError& error) {
      EXPECT_EQ(std::string(error.what()).find(name), 0u) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.code();
    }
    ADD_FAILURE() << name << " was created";
    return TraceError::Code::io;
  };
  { Writer writer(path, {}); }
  EXPECT_EQ(codeOf(path, false), TraceError::Code::exists);
  EXPECT_EQ(codeOf(folder.file("no/such/a.ulps"), false), TraceError::Code::missing);
  EXPECT_EQ(codeOf(folder.path(), true), TraceError::Code::exists);
  EXPECT_EQ(codeOf(path + "/a.ulps", false), TraceError::Code::missing);
  std::filesystem::create_symlink(folder.file("target"), folder.file("link.ulps"));
  EXPECT_EQ(codeOf(folder.file("link.ulps"), false), TraceError::Code::exists);
  EXPECT_FALSE(std::filesystem::exists(folder.file("target")));
}

TEST(Survival, OverwriteReplacesTheFileAndItsLogs) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  leaveCutShort(path, 1000);
  {
    Writer writer(path, {.overwrite = true});
    writer.schema({"aten::op", "", {}, {}});
    writeOps(writer, 1, 10);
    writer.finish();
    EXPECT_EQ(writer.error(), "");
  }
  const Reader reader(path);
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.opCount(), 10);
}

TEST(Survival, AStaleLogIsNotReplayedIntoANewTrace) {
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  leaveCutShort(path, 1000);
  std::filesystem::remove(path);
  {
    Writer writer(path, {});
    writer.finish();
    EXPECT_EQ(writer.error(), "");
  }
  EXPECT_EQ(Reader(path).opCount(), 0);
}

TEST(Survival, AForkedChildLeavesTheParentsTraceAlone) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads after a fork";
#endif
  TempFolder folder;
  const std::string path = folder.file("a.ulps");
  const std::string childPath = folder.file("child.ulps");
  Writer writer(path, {});
  writer.schema({"aten::op", "", {}, {}});
  writeOps(writer, 1, 100);
  for (const bool abandon : {true, false}) {
    const int status = inChild([&] {
      if (abandon) writer.abandonAfterFork();
      // None of these may wait for a thread that the child does not have.
      EventBuffer buffer;
      addSimpleOp(buffer, 9999, {1}, 1);
      writer.submit(buffer);
      if (!buffer.empty()) return 1;
      writer.schema({"child", "", {}, {}});
      writer.flush();
      writer.finish();
      if (!writer.error().empty()) return 2;
      Writer own(childPath, {.overwrite = true});  // SQLite works in the child
      own.schema({"aten::op", "", {}, {}});
      writeOps(own, 1, 50);
      own.finish();
      return own.error().empty() ? 0 : 3;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(Reader(childPath).opCount(), 50);
  }
  writeOps(writer, 101, 100);
  writer.finish();
  EXPECT_EQ(writer.error(), "");
  const Reader reader(path);
  EXPECT_TRUE(reader.complete());
  expectWholePrefix(reader, 200);
  EXPECT_EQ(reader.opCount(), 200);
}

TEST(Survival, ForkingWhileTheWriterIsBusyNeverDeadlocks) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads after a fork";
#endif
  TempFolder folder;
  Writer writer(folder.file("a.ulps"), {.flushMilliseconds = 1});
  int64_t id = 1;
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 5; ++i, id += 500) writeOps(writer, id, 500);
    const int status = inChild([&] {
      ::alarm(20);
      Writer own(folder.file("child" + std::to_string(round)), {});
      writeOps(own, 1, 10);
      own.finish();
      return own.error().empty() ? 0 : 1;
    });
    ASSERT_EQ(status, 0);
  }
  writer.finish();
  EXPECT_EQ(writer.error(), "");
}

// A user's fork handlers hold the user's locks; finish() under such a lock while another thread
// forks.
std::mutex usersLock;
void installUsersForkHandlers() {
  static const int once = ::pthread_atfork([] { usersLock.lock(); }, [] { usersLock.unlock(); },
                                           [] { usersLock.unlock(); });
  ASSERT_EQ(once, 0);
}

TEST(Survival, ForkingWhileATraceIsFinishedUnderALockDoesNotWait) {
  TempFolder folder;
  installUsersForkHandlers();
  std::atomic<bool> done{false};
  std::thread forker([&] {
    while (!done) inChild([] { return 0; });
  });
  // Each circle of locks would take the gate's patience, five seconds: together more than this test
  // is given.
  for (int round = 0; round < 100; ++round) {
    const std::lock_guard lock(usersLock);
    Writer writer(folder.file(std::to_string(round)), {});
    writeOps(writer, 1, 2000);
    writer.finish();
    EXPECT_EQ(writer.error(), "");
  }
  done = true;
  forker.join();
}

TEST(Survival, SignalsReachTheProgramsThreadsOnly) {
  TempFolder folder;
  static std::atomic<bool> elsewhere{false};
  static pthread_t mainThread;
  mainThread = ::pthread_self();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {
    if (!::pthread_equal(::pthread_self(), mainThread)) elsewhere = true;
  };
  ::sigaction(SIGUSR1, &action, &before);
  sigset_t block, old;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  Writer writer(folder.file("a.ulps"), {.flushMilliseconds = 1});
  ::pthread_sigmask(SIG_BLOCK, &block, &old);
  for (int i = 0; i < 100; ++i) {
    ::kill(::getpid(), SIGUSR1);
    writeOps(writer, 1 + i, 1);
  }
  writer.finish();
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_FALSE(elsewhere);
}

TEST(Survival, AProgramThatUsesSQLiteItselfIsNotDisturbed) {
  TempFolder folder;
  sqlite3* program = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &program), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(program, "CREATE TABLE t(x); INSERT INTO t VALUES(1)", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  {
    Writer writer(folder.file("a.ulps"), {});
    writeOps(writer, 1, 1000);
    EXPECT_EQ(sqlite3_exec(program, "INSERT INTO t VALUES(2)", nullptr, nullptr, nullptr),
              SQLITE_OK);
    writer.finish();
  }
  EXPECT_EQ(sqlite3_exec(program, "INSERT INTO t VALUES(3)", nullptr, nullptr, nullptr), SQLITE_OK);
  // No global setting was changed behind the program's back: it still may configure SQLite.
  EXPECT_EQ(sqlite3_threadsafe(), 1);
  sqlite3_close(program);
}

}  // namespace
}  // namespace ulpscope
