#pragma once

#include <iosfwd>
#include <string>

namespace ulpscope {

/// The manual page ulpscope(1) as troff, made of what `--help` shows.
void writeManPage(std::ostream& out);

/// Completion for "bash", "zsh" or "fish": verbs, flags, the values of flags that take a few, files.
/// False for any other shell.
bool writeCompletion(const std::string& shell, std::ostream& out);

}  // namespace ulpscope
