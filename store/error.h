#pragma once

#include <stdexcept>
#include <string>

namespace ulpscope {

/// A trace that can't be read or written. what() is one line for the user: what is wrong with which
/// file and what to do.
class TraceError : public std::runtime_error {
 public:
  enum class Code { missing, notATrace, newer, corrupt, permission, exists, diskFull, io };
  TraceError(Code code, const std::string& line) : std::runtime_error(line), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

}  // namespace ulpscope
