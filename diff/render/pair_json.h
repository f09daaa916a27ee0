#pragma once

#include <iosfwd>

#include "diff/result.h"

namespace ulpscope {

/// All pairs as JSON columns for the report's list (diff/render/report/list.js), about 40 bytes a
/// pair: texts are interned, errors stand only where there is a difference. Holds no "<", so that it
/// can stand in a page.
void writePairJson(const DiffResult& result, std::ostream& out);

}  // namespace ulpscope
