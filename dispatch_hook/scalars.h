#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "dispatch_hook/schema_info.h"
#include "store/records.h"

namespace ulpscope {

/// Appends a non-tensor argument in ScalarTag form (store/event_buffer.h).
void addScalar(std::vector<std::byte>& out, int16_t arg, const c10::IValue& value,
               IntegerMeaning meaning);
/// Scalars that instrumentation gives as text.
void addText(std::vector<std::byte>& out, int16_t arg, std::string_view text);

}  // namespace ulpscope
