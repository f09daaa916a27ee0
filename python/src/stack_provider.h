#pragma once

#include <string>
#include <vector>

namespace ulpscope::python {

/// Whose code a frame runs, by prefixes of its file's name; the rest is the program's.
struct StackFolders {
  std::vector<std::string> torch;   ///< torch and code that its compiler wrote
  std::vector<std::string> hidden;  ///< never part of a stack: this package, contextlib, importlib
};

/// Makes ops recorded from now on carry the Python stack of their thread: from the innermost frame
/// to the first one outside torch, or all frames where RecorderOptions::stacks asks for them.
/// Needs the GIL. A thread without Python frames, and any thread once the interpreter ends, has no
/// stack. Code objects seen on a stack are kept alive, so that a stack is known again by the
/// addresses of its code objects and instructions alone.
void installStackProvider(StackFolders folders);

}  // namespace ulpscope::python
