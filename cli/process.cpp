#include "cli/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "cli/verb.h"

extern char** environ;

namespace ulpscope {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
// What a terminal sends goes to its whole foreground group, the command included.
bool comesFromTerminal(int signal, const siginfo_t* info) {
  return (signal == SIGINT || signal == SIGQUIT || signal == SIGHUP) && info->si_code == SI_KERNEL;
}

std::atomic<pid_t> g_child{0};

void forward(int signal, siginfo_t* info, void*) {
  const int before = errno;
  const pid_t child = g_child.load(std::memory_order_relaxed);
  if (child > 0 && !comesFromTerminal(signal, info)) kill(child, signal);
  errno = before;
}

/// Forwards signals while it lives. They are blocked until the child is known, so none is lost.
class Forwarding {
 public:
  Forwarding() {
    sigset_t ours;
    sigemptyset(&ours);
    for (const int signal : kForwarded) sigaddset(&ours, signal);
    sigprocmask(SIG_BLOCK, &ours, &mask_);
    for (size_t i = 0; i < kForwarded.size(); ++i) {
      sigaction(kForwarded[i], nullptr, &before_[i]);
      // Ignored before us (nohup, a shell's background job): ignored by the command too.
      if (before_[i].sa_handler == SIG_IGN) continue;
      struct sigaction action {};
      action.sa_sigaction = forward;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      sigaction(kForwarded[i], &action, nullptr);  // an exec puts the default back in the child
    }
  }
  ~Forwarding() {
    for (size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &before_[i], nullptr);
    g_child = 0;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  const sigset_t& originalMask() const { return mask_; }
  void childStarted(pid_t child) {
    g_child = child;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_{};
  std::array<struct sigaction, kForwarded.size()> before_{};
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::string whyNotStarted(const std::string& program, int error) {
  const std::string found = findProgram(program);
  if (error == ENOENT && found.empty()) {
    return program.find('/') == std::string::npos
               ? fmt::format("there is no command '{}' on PATH; check its name", program)
               : fmt::format("there is no file {}; check the path of the command", program);
  }
  if (error == ENOENT) {
    return fmt::format("{} can't start: its interpreter (first line #!) is missing", found);
  }
  if (error == EACCES) {
    return fmt::format("{} is not executable; chmod +x it, or run it by its interpreter", program);
  }
  if (error == ENOEXEC) {
    return fmt::format("{} is no program that this machine can run; a script needs a first line "
                       "#!, or run it by its interpreter", program);
  }
  return fmt::format("{} can't be started: {}", program, std::strerror(error));
}

}  // namespace

ChildEnvironment::ChildEnvironment() {
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry = *each;
    const size_t equals = entry.find('=', 1);
    if (equals != std::string::npos) values_[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
}

std::string ChildEnvironment::get(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

std::vector<std::string> ChildEnvironment::list() const {
  std::vector<std::string> entries;
  for (const auto& [name, value] : values_) entries.push_back(name + "=" + value);
  return entries;
}

ExitStatus runCommand(const std::vector<std::string>& command,
                      const ChildEnvironment& environment) {
  std::vector<std::string> argumentTexts = command;
  std::vector<std::string> environmentTexts = environment.list();
  const std::vector<char*> arguments = pointers(argumentTexts);
  const std::vector<char*> entries = pointers(environmentTexts);

  Forwarding forwarding;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &forwarding.originalMask());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(),
                                 entries.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw CommandError(whyNotStarted(command[0], error));
  forwarding.childStarted(child);

  int raw = 0;
  while (waitpid(child, &raw, 0) < 0) {
    if (errno != EINTR) throw CommandError(fmt::format("lost the command: {}", std::strerror(errno)));
  }
  ExitStatus status;
  if (WIFSIGNALED(raw)) {
    status.signal = WTERMSIG(raw);
  } else {
    status.code = WEXITSTATUS(raw);
  }
  return status;
}

Captured captureCommand(const std::vector<std::string>& command, const ChildEnvironment& environment,
                        int seconds) {
  std::vector<std::string> argumentTexts = command;
  std::vector<std::string> environmentTexts = environment.list();
  const std::vector<char*> arguments = pointers(argumentTexts);
  const std::vector<char*> entries = pointers(environmentTexts);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), entries.data());
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return {};
  }

  Captured captured;
  bool late = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{ends[0], POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&waiting, 1, int(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      late = true;
      kill(child, SIGKILL);
      break;
    }
    char buffer[4096];
    const ssize_t size = read(ends[0], buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    captured.output.append(buffer, size_t(size));
  }
  close(ends[0]);
  int raw = 0;
  while (waitpid(child, &raw, 0) < 0 && errno == EINTR) {
  }
  if (late) {
    captured.end = Captured::End::late;
  } else if (WIFEXITED(raw) && WEXITSTATUS(raw) == 0) {
    captured.end = Captured::End::good;
  }
  return captured;
}

void endLike(const ExitStatus& status) {
  std::fflush(nullptr);
  if (status.signal != 0) {
    const rlimit noCore{0, 0};  // the command left its own core file, if any
    setrlimit(RLIMIT_CORE, &noCore);
    ::signal(status.signal, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, status.signal);
    sigprocmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(status.signal);
  }
  std::_Exit(status.shell());
}

bool isSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::string findProgram(const std::string& program) {
  namespace fs = std::filesystem;
  const auto usable = [](const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string::npos) {
    std::error_code error;
    return fs::exists(program, error) ? program : std::string();
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + program;
    if (usable(candidate)) return candidate;
  }
  return {};
}

}  // namespace ulpscope
