#include "dispatch_hook/scalars.h"

#include <cstring>
#include <sstream>

#include "dispatch_hook/process_group.h"
#include "store/event_buffer.h"

namespace ulpscope {

namespace {

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

void header(std::vector<std::byte>& out, int16_t arg, ScalarTag tag) {
  put(out, arg);
  put(out, tag);
}

template <class Stored, class List>
void addList(std::vector<std::byte>& out, int16_t arg, ScalarTag tag, const List& list) {
  header(out, arg, tag);
  put(out, uint32_t(list.size()));
  for (size_t i = 0; i < list.size(); ++i) put(out, Stored(list[i]));
}

/// What has no tag of its own, as text without addresses, so that two runs can be compared.
std::string describe(const c10::IValue& value) {
  if (value.isGenerator()) return "Generator";
  if (value.isDevice()) return value.toDevice().str();
  if (value.isStream()) return "Stream";
  if (value.isList()) {
    std::string text = "[";
    bool first = true;
    for (const c10::IValue& item : value.toListRef()) {
      if (!first) text += ", ";
      first = false;
      if (item.isInt()) {
        text += std::to_string(item.toInt());
      } else if (item.isString()) {
        text += item.toStringRef();
      } else {
        text += describe(item);
      }
    }
    return text + "]";
  }
  if (value.isNone()) return "None";
  if (value.isTensor()) return "Tensor";
  return describeDistributed(value).value_or(value.tagKind());
}

}  // namespace

void addText(std::vector<std::byte>& out, int16_t arg, std::string_view text) {
  header(out, arg, ScalarTag::text);
  put(out, uint32_t(text.size()));
  const size_t at = out.size();
  out.resize(at + text.size());
  if (!text.empty()) std::memcpy(out.data() + at, text.data(), text.size());
}

void addScalar(std::vector<std::byte>& out, int16_t arg, const c10::IValue& value,
               IntegerMeaning meaning) {
  if (value.isNone()) {
    header(out, arg, ScalarTag::none);
  } else if (value.isInt() && meaning == IntegerMeaning::dtype) {
    header(out, arg, ScalarTag::dtype);
    put(out, uint8_t(value.toInt()));
  } else if (value.isInt() && meaning != IntegerMeaning::number &&
             meaning != IntegerMeaning::processGroup) {
    std::ostringstream text;
    if (meaning == IntegerMeaning::layout) {
      text << c10::Layout(value.toInt());
    } else {
      text << c10::MemoryFormat(value.toInt());
    }
    addText(out, arg, text.str());
  } else if (value.isInt()) {
    header(out, arg, ScalarTag::integer);
    put(out, value.toInt());
  } else if (value.isDouble()) {
    header(out, arg, ScalarTag::floating);
    put(out, value.toDouble());
  } else if (value.isBool()) {
    header(out, arg, ScalarTag::boolean);
    put(out, uint8_t(value.toBool()));
  } else if (value.isComplexDouble()) {
    const c10::complex<double> number = value.toComplexDouble();
    header(out, arg, ScalarTag::complexNumber);
    put(out, number.real());
    put(out, number.imag());
  } else if (value.isString()) {
    addText(out, arg, meaning == IntegerMeaning::processGroup ? describeGroup(value.toStringRef())
                                                              : value.toStringRef());
  } else if (value.isIntList()) {
    addList<int64_t>(out, arg, ScalarTag::integers, value.toIntList());
  } else if (value.isDoubleList()) {
    addList<double>(out, arg, ScalarTag::floatings, value.toDoubleList());
  } else if (value.isBoolList()) {
    addList<uint8_t>(out, arg, ScalarTag::booleans, value.toBoolList());
  } else if (value.isSymInt()) {
    const std::optional<int64_t> number = value.toSymInt().maybe_as_int();
    if (number) {
      header(out, arg, ScalarTag::integer);
      put(out, *number);
    } else {
      addText(out, arg, "SymInt");
    }
  } else if (value.isSymFloat() || value.isSymBool()) {
    addText(out, arg, "Sym");
  } else {
    addText(out, arg, describe(value));
  }
}

}  // namespace ulpscope
