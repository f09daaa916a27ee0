#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "diff/render/format.h"
#include "store/reader.h"

namespace ulpscope {

/// Prints ops, given in order of id, as an indented tree: step, phase, regions (modules, compiled
/// regions, user scopes), and ops inside the op that encloses them. A heading is printed when it
/// changes. Streams: keeps one path, however long the trace.
class OpTree {
 public:
  OpTree(const Reader& trace, std::ostream& out, const Paint& paint, bool operands);
  void add(const OpTable& table, const Op& op);

 private:
  struct Heading {
    int64_t key = 0;
    std::string text;
  };
  std::vector<Heading> pathOf(const Op& op) const;
  int depthOf(const Op& op);
  void printOperands(const OpTable& table, const Op& op, const std::string& indent);

  const Reader& trace_;
  std::ostream& out_;
  const Paint paint_;
  const bool operands_;
  std::vector<int64_t> path_;    ///< keys of the headings on the screen
  std::vector<OpId> enclosing_;  ///< ops that enclose the last printed one, outermost first
};

/// Name of one operand: the argument's or return's name in the schema, with "[2]" in a tensor list.
std::string operandName(const Schema& schema, const Operand& operand);
std::string_view roleText(Role role);

}  // namespace ulpscope
