#include "cli/unrecorded.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace ulpscope {
namespace {

bool isStatic(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  file.seekg(std::streamoff(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

bool isPython(const std::string& program) {
  return std::filesystem::path(program).filename().string().starts_with("python");
}

/// The flag of `python -I ...` that keeps PYTHONPATH or sitecustomize out; 0 where there is none.
char isolatingFlag(const std::vector<std::string>& command) {
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& argument = command[i];
    if (argument.size() < 2 || argument[0] != '-' || argument[1] == '-') return 0;
    for (size_t at = 1; at < argument.size(); ++at) {
      const char flag = argument[at];
      if (flag == 'I' || flag == 'E' || flag == 'S') return flag;
      if (flag == 'c' || flag == 'm') return 0;  // the program follows
      if (flag == 'W' || flag == 'X') {          // takes a value, here or in the next argument
        if (at + 1 == argument.size()) ++i;
        break;
      }
    }
  }
  return 0;
}

}  // namespace

std::string whyNothingRecorded(const std::vector<std::string>& command, const ExitStatus& status) {
  const std::string program = findProgram(command[0]);
  struct stat facts {};
  if (stat(program.c_str(), &facts) == 0 && (facts.st_mode & (S_ISUID | S_ISGID)) != 0) {
    return fmt::format("{} is setuid, and the system preloads nothing into it; run a copy of it "
                       "without that bit", program);
  }
  if (isStatic(program)) {
    return fmt::format("{} is statically linked, so nothing can be preloaded; use ulpscope::Recorder "
                       "in it", program);
  }
  if (isPython(program)) {
    if (const char flag = isolatingFlag(command)) {
      return fmt::format("python -{} keeps the recorder out; leave that flag away, or use "
                         "`with ulpscope.record(...)` in the program", flag);
    }
  }
  const std::string ended =
      status.signal != 0
          ? fmt::format("the command was killed by signal {} before an op of torch ran", status.signal)
      : status.code != 0
          ? fmt::format("the command ended with status {} before an op of torch ran", status.code)
          : std::string("the command ran no op of torch");
  return ended + "; does it use PyTorch or LibTorch, in this process or a child of it?";
}

}  // namespace ulpscope
