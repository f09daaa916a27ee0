#pragma once

#include <QString>
#include <QStringList>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gui/models/document.h"

namespace ulpscope::gui {

/// Which pairs to show. Written as words, all of which must hold:
///   layer_norm          the op's or the module's name contains it (any case)
///   op:mm  module:h.0   only the op's, only the module's name
///   label:origin        identical, within, origin, propagated, healed, structural, source, opaque
///   dtype:bf16          an operand has it; torch's name or the short one
///   phase:backward  step:3
///   is:differing        any label but identical
///   is:kernel           a compiled kernel on either side
/// A leading minus turns a word around: -label:propagated.
struct Filter {
  struct Word {
    enum class Kind { any, op, module, label, dtype, phase, step, differing, kernel };
    Kind kind = Kind::any;
    bool negated = false;
    QString value;
    int number = 0;  ///< label, dtype, phase or step
  };
  std::vector<Word> words;

  bool empty() const { return words.empty(); }
};

/// Empty where a word has an unknown key or value; `problem` then says which, in one line.
std::optional<Filter> parseFilter(const QString& text, QString* problem);

/// Asks a filter about pairs of one document, at a cost of a few look-ups a pair: names are compared
/// once for each distinct op, module and type.
class FilterMatcher {
 public:
  FilterMatcher(const Document& document, const Filter& filter);
  bool matches(uint32_t pair) const;

 private:
  struct Prepared {
    Filter::Word word;
    std::array<std::vector<char>, 2> schemas;  ///< by SchemaId
    std::vector<char> nodes;                   ///< by fold node
    mutable std::unordered_map<std::string, bool> modules;  ///< asked so far, by name and class
  };
  bool holds(const Prepared& word, uint32_t pair) const;
  bool inModule(const Prepared& word, uint32_t pair) const;
  bool anyOp(const Prepared& word, const Pair& pair) const;

  const Document& document_;
  std::vector<Prepared> words_;
};

}  // namespace ulpscope::gui
