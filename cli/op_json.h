#pragma once

#include <iosfwd>

#include "store/reader.h"

namespace ulpscope {

// `ulpscope show --format=json`: JSON Lines, each object with "type": "trace" (once, first), "op" or
// "event". Keys are only ever added.

void writeTraceLine(const Reader& trace, std::ostream& out);
void writeOpLine(const Reader& trace, const OpTable& table, const Op& op, std::ostream& out);
void writeEventLine(const Event& event, std::ostream& out);

}  // namespace ulpscope
