#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "store/records.h"

/// What a gate keeps of a run: text that a review can read, a few bytes an op once compressed.
/// docs/gate.md describes the lines. No tensor can be got back from it.
namespace ulpscope::gate {

inline constexpr int kBaselineVersion = 1;

/// A stretch of ops of one step. One line of `structure` and one of `values` for each op.
struct Section {
  int32_t step = 0;
  std::vector<std::string> structure;
  std::vector<std::string> values;
};

struct Baseline {
  std::vector<std::string> command;     ///< what was run; may be empty
  std::vector<KeyValue> environment;    ///< in order of key
  std::vector<Schema> schemas;          ///< of all ops, in order of their qualified names
  std::vector<Section> sections;
  bool complete = true;  ///< the run came to its end

  int64_t ops() const;
  /// Do the two hold the same ops with the same values? Environment and command do not count.
  bool sameRun(const Baseline& other) const;
};

/// Writes the text. A section whose structure is near that of the one before is written as what
/// changed, so that a hundred equal steps cost their values alone.
void write(const Baseline& baseline, std::ostream& out);

/// Reads what write() wrote. Throws TraceError with one line that says where, for any other text.
/// `name`: the file's, for messages.
Baseline parse(std::string_view text, const std::string& name);
Baseline readBaseline(const std::string& path);

/// The two parts that stand at the head of a file, without reading its ops; empty where there is no
/// such file, or another one.
std::vector<KeyValue> readEnvironment(const std::string& path);
std::vector<std::string> readCommand(const std::string& path);

/// Text as one word of a line: spaces, controls and "%" as %XX. "" gives "%".
std::string word(std::string_view text);
/// The reverse. Never fails: what is no escape stays.
std::string unword(std::string_view text);

}  // namespace ulpscope::gate
