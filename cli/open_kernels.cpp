#include "cli/open_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/torch_python.h"
#include "cli/verb.h"

namespace ulpscope {
namespace {

using nlohmann::json;

constexpr int kSeconds = 600;
constexpr double kConfidence = 0.95;  // of an op that was found by running it

/// The side of an origin that is a kernel where the other is none; 0 for A, 1 for B, -1: neither.
int kernelSide(const Origin& origin) {
  const bool a = origin.a && !origin.a->kernel.empty();
  const bool b = origin.b && !origin.b->kernel.empty();
  return a == b ? -1 : b ? 1 : 0;
}

bool canOpen(const Origin& origin) {
  const bool values = origin.difference == Difference::rounding ||
                      origin.difference == Difference::numeric ||
                      origin.difference == Difference::bitwise ||
                      origin.difference == Difference::nanInf;
  return origin.label == Label::origin && values && kernelSide(origin) >= 0;
}

/// Names without overload and of the functional form: aten::add_ and aten::add are one op.
std::string plain(std::string name) {
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

double number(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

DType dtypeNamed(const std::string& name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (info(DType(i)).name == name) return DType(i);
  }
  return DType::Undefined;
}

Stack stackOf(const json& frames) {
  Stack stack;
  for (const json& frame : frames) {
    stack.push_back({frame.at("file"), frame.at("line"), frame.at("function")});
  }
  return stack;
}

/// The origins of one opened kernel, made from the origin of the kernel as a whole.
class Inside {
 public:
  Inside(const DiffResult& result, const Origin& whole, const json& kernel)
      : result_(result), whole_(whole), kernel_(kernel), ops_(kernel.at("ops")) {}

  std::vector<Origin> origins() const {
    std::vector<Origin> found;
    for (const json& entry : kernel_.at("origins")) found.push_back(origin(entry));
    return found;
  }
  /// Index in origins() of the one that adds most.
  size_t dominant() const {
    const json& index = kernel_.at("dominant");
    return index.is_number() ? index.get<size_t>() : 0;
  }

 private:
  Origin origin(const json& entry) const {
    const size_t named = entry.at("named");
    const json& op = ops_.at(named);
    const json& at = ops_.at(entry.at("at").get<size_t>());
    Origin made = whole_;
    made.inside = int32_t(named);
    made.op = op.at("op");
    made.module = op.at("module");
    made.explanation = entry.at("explanation");
    made.confidence = std::max(made.confidence, kConfidence);
    if (made.module != whole_.module) made.moduleClass = moduleClass(op);
    made.operandRole = Role::output;
    made.operandIndex = 0;
    made.operandDType = dtypeNamed(at.at("dtype"));
    made.operandShape = at.at("shape").get<std::vector<int64_t>>();
    const json& distance = at.at("inside").is_object() && at.at("inside").at("differing") != 0
                               ? at.at("inside")
                               : at.at("own");
    if (distance.is_object()) {
      made.relativeError = number(distance.at("relative_error"));
      made.ulp = number(distance.at("ulp"));
      made.difference = difference(distance);
    }
    if (const double share = number(entry.at("share")); std::isfinite(share)) {
      made.share = share * (std::isfinite(whole_.share) ? whole_.share : 1.0);
    }
    const bool inB = kernelSide(whole_) == 1;
    OriginSide& compiled = inB ? *made.b : *made.a;
    compiled.op = made.op;
    if (Stack stack = stackOf(op.at("stack")); !stack.empty()) compiled.stack = std::move(stack);
    if (std::optional<OriginSide>& other = inB ? made.a : made.b; other) {
      *other = partner(named, *other, !inB);
    }
    return made;
  }

  static Difference difference(const json& distance) {
    const double ulp = number(distance.at("ulp"));
    if (!distance.at("relative_error").is_number()) return Difference::nanInf;
    return std::isfinite(ulp) && ulp <= kRoundingUlps ? Difference::rounding : Difference::numeric;
  }

  std::string moduleClass(const json& op) const {
    const Side& side = kernelSide(whole_) == 1 ? result_.b : result_.a;
    const OriginSide& compiled = kernelSide(whole_) == 1 ? *whole_.b : *whole_.a;
    const int source = op.at("source");
    for (const Op& each : side.ops.ops) {
      if (each.id != compiled.id) continue;
      const Provenance& from = side.reader->provenance(each.provenance);
      if (source >= 0 && size_t(source) < from.sources.size()) {
        return from.sources[size_t(source)].moduleClass;
      }
    }
    return {};
  }

  /// The op of the eager side: the one of this name, of several the one in the same place.
  OriginSide partner(size_t named, const OriginSide& before, bool inB) const {
    const std::string wanted = plain(ops_.at(named).at("op"));
    size_t place = 0;
    for (size_t i = 0; i < named; ++i) place += plain(ops_.at(i).at("op")) == wanted;
    const Side& side = inB ? result_.b : result_.a;
    const Pair& pair = result_.pairs[size_t(whole_.pair)];
    OriginSide found = before;
    for (const uint32_t member : inB ? result_.opsB(pair) : result_.opsA(pair)) {
      const Op& op = side.ops.ops[member];
      const std::string name = side.reader->schema(op.schema).name;
      if (plain(name) != wanted) continue;
      found = {op.id, name, "", side.reader->stack(op.stack)};
      if (place-- == 0) break;
    }
    return found;
  }

  static constexpr double kRoundingUlps = 16;

  const DiffResult& result_;
  const Origin& whole_;
  const json& kernel_;
  const json& ops_;
};

/// Opens the kernels of one trace; the answer by op id.
std::map<int64_t, json> look(const std::string& trace, const std::set<int64_t>& ids) {
  const TorchPython python = TorchPython::of(trace);
  std::vector<std::string> arguments = {"open", "--for-diff", trace};
  for (const int64_t id : ids) arguments.push_back(std::to_string(id));
  const Captured answered =
      captureCommand(python.command("ulpscope.microscope", arguments), python.environment, kSeconds);
  if (answered.end != Captured::End::good) {
    throw CommandError(fmt::format("{} -m ulpscope.microscope did not answer; `ulpscope microscope {} "
                                   "{}` says why", python.program, trace, *ids.begin()));
  }
  std::map<int64_t, json> found;
  const json answer = json::parse(answered.output);
  for (const json& kernel : answer.at("kernels")) found[kernel.at("id")] = kernel;
  return found;
}

void replace(DiffResult& result, const Origin& whole, const json& kernel) {
  const Inside inside(result, whole, kernel);
  const std::vector<Origin> origins = inside.origins();
  if (origins.empty()) return;
  const int32_t pair = whole.pair;
  if (result.first && result.first->pair == pair) result.first = origins.front();
  if (result.dominant && result.dominant->pair == pair) {
    result.dominant = origins[std::min(inside.dominant(), origins.size() - 1)];
  }
  std::vector<Origin> frontier;
  for (Origin& origin : result.frontier) {
    if (origin.pair == pair) {
      frontier.insert(frontier.end(), origins.begin(), origins.end());
    } else {
      frontier.push_back(std::move(origin));
    }
  }
  result.frontier = std::move(frontier);
}

void open(DiffResult& result) {
  std::vector<Origin> wholes;
  for (const auto& origin : {result.first, result.dominant}) {
    if (!origin || !canOpen(*origin)) continue;
    if (wholes.empty() || wholes.front().pair != origin->pair) wholes.push_back(*origin);
  }
  for (const int which : {0, 1}) {
    const std::string& trace = which == 0 ? result.a.path : result.b.path;
    std::set<int64_t> ids;
    for (const Origin& whole : wholes) {
      if (kernelSide(whole) == which) ids.insert((which == 0 ? whole.a : whole.b)->id.value);
    }
    if (ids.empty()) continue;
    const std::map<int64_t, json> kernels = look(trace, ids);
    for (const Origin& whole : wholes) {
      if (kernelSide(whole) != which) continue;
      const OriginSide& side = which == 0 ? *whole.a : *whole.b;
      const auto found = kernels.find(side.id.value);
      if (found == kernels.end()) continue;
      if (found->second.at("error").is_string()) {
        result.notes.push_back(fmt::format("The kernel {} was not opened: {}.", side.kernel,
                                           found->second.at("error").get<std::string>()));
      } else if (found->second.at("origins").empty()) {
        result.notes.push_back(fmt::format("Opened on its recorded inputs, no op of the kernel {} "
                                           "departs from eager.", side.kernel));
      } else {
        replace(result, whole, found->second);
      }
    }
  }
}

}  // namespace

void openKernels(DiffResult& result, bool showProgress) {
  const auto opens = [](const std::optional<Origin>& origin) { return origin && canOpen(*origin); };
  if (!opens(result.first) && !opens(result.dominant)) return;
  if (showProgress) {
    fmt::print(stderr, "opening the divergent kernel: its ops are compiled again (--no-microscope "
                       "leaves that out)");
    std::fflush(stderr);
  }
  try {
    open(result);
  } catch (const std::exception& error) {
    result.notes.push_back(fmt::format("The divergent kernel was not opened: {}.", error.what()));
  }
  if (showProgress) fmt::print(stderr, "\r\033[K");
}

}  // namespace ulpscope
