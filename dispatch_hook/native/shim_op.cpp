#include "dispatch_hook/native/shim_op.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <unordered_map>

#include "dispatch_hook/scalars.h"
#include "shim_declarations.h"  // made by shim_declarations.cmake
#include "store/scalars.h"

namespace ulpscope::native {

namespace {

using Kind = ShimParameter::Kind;

constexpr std::string_view kPrefix = "aoti_torch_cpu_";
constexpr std::string_view kLength = "_len_";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

Kind kindOf(std::string_view type, std::string_view name, bool hasLength) {
  if (name.starts_with("ret") && type.ends_with("*")) {
    return type == "AtenTensorHandle*" ? Kind::result : Kind::other;
  }
  struct Known {
    std::string_view type;
    bool hasLength;
    Kind kind;
  };
  static constexpr std::array<Known, 19> kKnown{{
      {"AtenTensorHandle", false, Kind::tensor},
      {"AtenTensorHandle*", false, Kind::optionalTensor},
      {"const AtenTensorHandle*", true, Kind::tensorList},
      {"const AtenTensorHandle**", true, Kind::optionalTensorList},
      {"int64_t", false, Kind::integer64},
      {"int32_t", false, Kind::integer32},
      {"double", false, Kind::float64},
      {"const char*", false, Kind::text},
      {"int64_t*", false, Kind::optionalInteger64},
      {"int32_t*", false, Kind::optionalInteger32},
      {"const int32_t*", false, Kind::optionalInteger32},
      {"double*", false, Kind::optionalFloat64},
      {"const char**", false, Kind::optionalText},
      {"const int64_t*", true, Kind::integers64},
      {"const int32_t*", true, Kind::integers32},
      {"const double*", true, Kind::floats64},
      {"const int64_t**", true, Kind::optionalIntegers64},
      {"const double**", true, Kind::optionalFloats64},
      {"const int64_t*", false, Kind::optionalInteger64},
  }};
  for (const Known& known : kKnown) {
    if (known.type == type && known.hasLength == hasLength) return known.kind;
  }
  return Kind::other;
}

std::vector<ShimParameter> parse(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> written;  // type, name
  while (!trimmed(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t name = part.find_last_of(" *") + 1;
    written.emplace_back(trimmed(part.substr(0, name)), part.substr(name));
  }
  std::vector<ShimParameter> parameters;
  for (size_t i = 0; i < written.size(); ++i) {
    const auto& [type, name] = written[i];
    const bool hasLength =
        i + 1 < written.size() && written[i + 1].second == name + std::string(kLength);
    parameters.push_back({name, kindOf(type, name, hasLength), -1});
  }
  return parameters;
}

/// Function -> the text between its parentheses.
const std::unordered_map<std::string, std::string_view>& declarations() {
  static const auto* const all = [] {
    auto* found = new std::unordered_map<std::string, std::string_view>;
    std::string_view rest = kShimDeclarations;
    while (true) {
      const size_t begin = rest.find(kPrefix);
      if (begin == std::string_view::npos) break;
      const size_t open = rest.find('(', begin), close = rest.find(')', begin);
      if (open == std::string_view::npos || close == std::string_view::npos) break;
      found->emplace(trimmed(rest.substr(begin, open - begin)),
                     rest.substr(open + 1, close - open - 1));
      rest.remove_prefix(close);
    }
    return found;
  }();
  return *all;
}

/// The operators by the names that shims have: the overload follows the name. oneDNN's have a
/// namespace of their own, which the shim's name tells or not.
std::optional<c10::OperatorHandle> operatorOf(std::string_view shim) {
  static const auto* const all = [] {
    auto* found = new std::unordered_map<std::string, c10::OperatorName>;
    std::vector<c10::OperatorName> names = c10::Dispatcher::singleton().getAllOpNames();
    // What two namespaces have is aten's.
    std::ranges::stable_partition(
        names, [](const c10::OperatorName& name) { return name.name.starts_with("aten::"); });
    for (const c10::OperatorName& name : names) {
      const size_t colon = name.name.find("::");
      const std::string space = name.name.substr(0, colon);
      std::string base = name.name.substr(colon + 2);
      const std::string overload = name.overload_name.empty() ? "" : "_" + name.overload_name;
      if (space == "aten") {
        found->emplace(base + overload, name);
      } else if (space == "mkldnn" || space == "mkl" || space == "onednn" || space == "quantized" ||
                 space == "_c10d_functional") {
        for (const std::string before : {"", "_", "mkldnn_"}) {
          found->emplace(before + base + overload, name);
          if (base.ends_with('_')) {  // in place: the mark stands last
            found->emplace(before + base.substr(0, base.size() - 1) + overload + "_", name);
          }
        }
        found->emplace(space + "_" + base + overload, name);
      }
    }
    // A shim with a name of its own.
    found->emplace("_weight_int4pack_mm_cpu_tensor",
                   c10::OperatorName("quantized::int4mm_packed_weight_cpu", ""));
    return found;
  }();
  const auto found = all->find(std::string(shim));
  if (found == all->end()) return std::nullopt;
  return c10::Dispatcher::singleton().findSchema(found->second);
}

/// Parameters are named like the operator's arguments. oneDNN's are not, but come in their order.
void placeParameters(ShimOp& op) {
  const std::vector<std::string>& arguments = op.info->schema.arguments;
  std::vector<ShimParameter*> passed;
  bool named = true;
  for (ShimParameter& parameter : op.parameters) {
    if (parameter.name.starts_with("ret")) {
      if (parameter.kind == Kind::result) parameter.arg = int16_t(std::atoi(parameter.name.c_str() + 3));
      continue;
    }
    if (parameter.name.ends_with("_len_") || parameter.name.ends_with("_index_")) continue;
    passed.push_back(&parameter);
    const auto at = std::ranges::find(arguments, parameter.name);
    named = named && at != arguments.end();
    if (at != arguments.end()) parameter.arg = int16_t(at - arguments.begin());
  }
  if (named || passed.size() != arguments.size()) return;
  for (size_t i = 0; i < passed.size(); ++i) passed[i]->arg = int16_t(i);
}

std::unique_ptr<ShimOp> make(std::string_view function) {
  const auto declared = declarations().find(std::string(function));
  if (declared == declarations().end()) return nullptr;
  const auto op = operatorOf(function.substr(kPrefix.size()));
  if (!op) return nullptr;
  auto made = std::make_unique<ShimOp>();
  made->info = schemaInfo(*op);
  // Collectives go to the dispatcher, which knows that their results come later.
  if (made->info == nullptr || made->info->descend || made->info->collective) return nullptr;
  made->parameters = parse(declared->second);
  placeParameters(*made);
  return made;
}

/// A number as the operator's schema types it: the C functions know int64_t, int32_t and double only.
c10::IValue typed(const ShimOp& op, int16_t arg, double number) {
  const c10::TypePtr type = op.info->types[size_t(arg)];
  switch (type->kind()) {
    case c10::TypeKind::BoolType:
      return number != 0;
    case c10::TypeKind::NumberType:  // 1 and 1.0 pass alike; the program mostly means the first
      if (std::trunc(number) == number && std::abs(number) < 1e15) return int64_t(number);
      return number;
    default:
      return number;
  }
}
c10::IValue typed(const ShimOp& op, int16_t arg, int64_t number) {
  if (op.info->types[size_t(arg)]->kind() == c10::TypeKind::BoolType) return number != 0;
  return number;
}

template <class T>
c10::List<T> listOf(const T* values, int64_t count) {
  c10::List<T> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(values[i]);
  return list;
}

class Reader {
 public:
  Reader(const ShimOp& op, const CaughtCall& call, ShimCall& into)
      : op_(op), arguments_(call), into_(into) {}

  void read() {
    for (const ShimParameter& parameter : op_.parameters) readOne(parameter);
    if (!scalars_.empty()) into_.scalars = unpackScalars(scalars_);
  }

 private:
  using Handle = at::Tensor*;

  void readOne(const ShimParameter& p) {
    switch (p.kind) {
      case Kind::tensor:
        return tensor(p.arg, -1, reinterpret_cast<Handle>(arguments_.integer()));
      case Kind::optionalTensor: {
        const Handle* handle = arguments_.pointer<Handle>();
        if (handle != nullptr) return tensor(p.arg, -1, *handle);
        return scalar(p.arg, c10::IValue());
      }
      case Kind::tensorList: {
        const Handle* handles = arguments_.pointer<Handle>();
        lists_ = [this, handles, arg = p.arg](int64_t count) {
          for (int64_t i = 0; i < count; ++i) tensor(arg, int16_t(i), handles[i]);
        };
        return;
      }
      case Kind::optionalTensorList: {
        const Handle* const* handles = arguments_.pointer<const Handle*>();
        lists_ = [this, handles, arg = p.arg](int64_t count) {
          for (int64_t i = 0; i < count; ++i) {
            if (handles[i] != nullptr) tensor(arg, int16_t(i), *handles[i]);
          }
        };
        return;
      }
      case Kind::result:
        into_.results.emplace_back(arguments_.pointer<at::Tensor* const>(), p.arg);
        return;
      case Kind::integer64: {
        const auto number = int64_t(arguments_.integer());
        if (lists_) return std::exchange(lists_, nullptr)(number);
        return integer(p.arg, number);
      }
      case Kind::integer32:
        return integer(p.arg, int32_t(arguments_.integer()));
      case Kind::float64:
        return floating(p.arg, arguments_.float64());
      case Kind::text: {
        const char* text = arguments_.pointer<const char>();
        return scalar(p.arg, text == nullptr ? c10::IValue() : c10::IValue(std::string(text)));
      }
      case Kind::optionalInteger64: {
        const int64_t* number = arguments_.pointer<int64_t>();
        return number == nullptr ? scalar(p.arg, c10::IValue()) : integer(p.arg, *number);
      }
      case Kind::optionalInteger32: {
        const int32_t* number = arguments_.pointer<int32_t>();
        return number == nullptr ? scalar(p.arg, c10::IValue()) : integer(p.arg, *number);
      }
      case Kind::optionalFloat64: {
        const double* number = arguments_.pointer<double>();
        return number == nullptr ? scalar(p.arg, c10::IValue()) : floating(p.arg, *number);
      }
      case Kind::optionalText: {
        const char* const* text = arguments_.pointer<const char*>();
        return scalar(p.arg, text == nullptr || *text == nullptr ? c10::IValue()
                                                                 : c10::IValue(std::string(*text)));
      }
      case Kind::integers64:
        return list(p.arg, arguments_.pointer<const int64_t>());
      case Kind::integers32:
        return list(p.arg, arguments_.pointer<const int32_t>());
      case Kind::floats64:
        return list(p.arg, arguments_.pointer<const double>());
      case Kind::optionalIntegers64: {
        const int64_t* const* values = arguments_.pointer<const int64_t*>();
        return list(p.arg, values == nullptr ? nullptr : *values);
      }
      case Kind::optionalFloats64: {
        // `double?[]` is an array of pointers to its elements.
        const double* const* values = arguments_.pointer<const double*>();
        lists_ = [this, values, arg = p.arg](int64_t count) {
          c10::List<double> all;
          for (int64_t i = 0; values != nullptr && i < count; ++i) {
            if (values[i] != nullptr) all.push_back(*values[i]);
          }
          scalar(arg, values == nullptr ? c10::IValue() : c10::IValue(all));
        };
        return;
      }
      case Kind::other:
        arguments_.integer();
        return;
    }
  }

  void tensor(int16_t arg, int16_t item, Handle handle) {
    if (handle == nullptr || !handle->defined() || arg < 0) return;
    instrument::KernelOperand& operand = into_.operands.emplace_back();
    operand.tensor = handle;
    operand.arg = arg;
    operand.item = item;
    switch (op_.info->arguments[size_t(arg)]) {
      case ArgumentUse::read:
        operand.access = instrument::Access::read;
        break;
      case ArgumentUse::overwrite:
        operand.access = instrument::Access::write;
        break;
      default:
        operand.access = instrument::Access::readWrite;
    }
  }
  void scalar(int16_t arg, const c10::IValue& value) {
    if (arg >= 0) addScalar(scalars_, arg, value, op_.info->meanings[size_t(arg)]);
  }
  void integer(int16_t arg, int64_t number) {
    if (arg >= 0) scalar(arg, typed(op_, arg, number));
  }
  void floating(int16_t arg, double number) {
    if (arg >= 0) scalar(arg, typed(op_, arg, number));
  }
  /// The number of elements is the next parameter.
  template <class T>
  void list(int16_t arg, const T* values) {
    lists_ = [this, arg, values](int64_t count) {
      if (values == nullptr) return scalar(arg, c10::IValue());
      if constexpr (std::is_same_v<T, int32_t>) {
        c10::List<bool> all;
        for (int64_t i = 0; i < count; ++i) all.push_back(values[i] != 0);
        scalar(arg, all);
      } else {
        scalar(arg, listOf(values, count));
      }
    };
  }

  const ShimOp& op_;
  Arguments arguments_;
  ShimCall& into_;
  std::vector<std::byte> scalars_;
  std::function<void(int64_t)> lists_;
};

}  // namespace

const ShimOp* shimOp(std::string_view function) {
  static auto* const mutex = new std::mutex;
  static auto* const made = new std::unordered_map<std::string, std::unique_ptr<ShimOp>>;
  const std::lock_guard guard(*mutex);
  const auto [entry, isNew] = made->try_emplace(std::string(function));
  if (isNew) entry->second = make(function);
  return entry->second.get();
}

std::vector<std::string> shimFunctions() {
  std::vector<std::string> names;
  for (const auto& [name, parameters] : declarations()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

ShimCall readArguments(const ShimOp& op, const CaughtCall& call) {
  ShimCall read;
  Reader(op, call, read).read();
  return read;
}

size_t stackWords(const ShimOp& op) { return op.parameters.size(); }

}  // namespace ulpscope::native
