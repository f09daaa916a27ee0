#include "cli/op_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/op_tree.h"
#include "diff/result.h"

namespace ulpscope {
namespace {

using Json = nlohmann::ordered_json;

void writeLine(const Json& line, std::ostream& out) {
  out << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string_view kindText(OpKind kind) {
  switch (kind) {
    case OpKind::op: return "op";
    case OpKind::kernel: return "kernel";
    case OpKind::compiled: return "compiled";
    case OpKind::wrapper: return "wrapper";
    case OpKind::collective: return "collective";
  }
  return "op";
}

std::string_view regionKindText(RegionKind kind) {
  switch (kind) {
    case RegionKind::module: return "module";
    case RegionKind::compiled: return "compiled";
    case RegionKind::autograd: return "autograd";
    case RegionKind::optimizer: return "optimizer";
    case RegionKind::scope: return "scope";
    case RegionKind::higherOrder: return "higher_order";
  }
  return "scope";
}

std::string_view closureText(Closure closure) {
  switch (closure) {
    case Closure::unchecked: return "unchecked";
    case Closure::source: return "source";
    case Closure::matched: return "matched";
    case Closure::broken: return "broken";
  }
  return "unchecked";
}

std::string_view layoutText(Layout layout) {
  switch (layout) {
    case Layout::strided: return "strided";
    case Layout::sparse: return "sparse";
    case Layout::nested: return "nested";
    case Layout::mkldnn: return "mkldnn";
    case Layout::other: return "other";
  }
  return "other";
}

Json statistics(const Fingerprint& print) {
  const Statistics& s = print.statistics;
  return {{"components", s.components},
          {"nan", s.nan},
          {"positive_infinity", s.positiveInfinity},
          {"negative_infinity", s.negativeInfinity},
          {"zero", s.zero},
          {"negative_zero", s.negativeZero},
          {"subnormal", s.subnormal},
          {"min", number(s.min)},
          {"max", number(s.max)},
          {"sum", number(s.sum)},
          {"l1", number(s.l1)},
          {"l2", number(std::sqrt(s.sumSquares))}};
}

Json operandJson(const Reader& trace, const Schema& schema, const Operand& operand) {
  const TensorType& type = trace.type(operand.type);
  Json line = {{"role", roleText(operand.role)},
               {"arg", operand.arg},
               {"item", operand.item},
               {"name", operandName(schema, operand)},
               {"dtype", info(type.dtype).name},
               {"layout", layoutText(type.layout)},
               {"device", type.device},
               {"shape", type.sizes},
               {"stride", type.strides},
               {"storage", operand.storage.value},
               {"offset", operand.offset},
               {"writer", operand.writer ? Json(operand.writer.value) : Json(nullptr)},
               {"closure", closureText(operand.closure)},
               {"parameter", (operand.flags & kParameter) != 0},
               {"requires_grad", (operand.flags & kRequiresGrad) != 0}};
  if (!operand.fingerprint) {
    line["digest"] = nullptr;
    line["skip"] = name(operand.skip);
    return line;
  }
  const Fingerprint print = trace.fingerprint(operand.fingerprint);
  line["digest"] = toHex(print.digest);
  line["captured"] = trace.captured(operand.fingerprint);
  line["skip"] = operand.skip == SkipReason::none ? Json(nullptr) : Json(name(operand.skip));
  if (print.level != Level::digest) line["statistics"] = statistics(print);
  return line;
}

Json stackJson(const Stack& stack) {
  Json frames = Json::array();
  for (const Frame& frame : stack) {
    frames.push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}});
  }
  return frames;
}

Json regionsJson(const Reader& trace, RegionId id) {
  Json regions = Json::array();
  for (int guard = 0; id && guard < 1000; ++guard) {
    const Region& region = trace.region(id);
    if (!region.id) break;
    regions.push_back({{"id", region.id.value},
                       {"kind", regionKindText(region.kind)},
                       {"name", region.name},
                       {"detail", region.detail}});
    id = region.parent;
  }
  return regions;
}

Json kernelJson(const Provenance& provenance) {
  Json sources = Json::array();
  for (const SourceOp& source : provenance.sources) {
    sources.push_back({{"node", source.node},
                       {"op", source.op},
                       {"overload", source.overload},
                       {"module", source.module},
                       {"module_class", source.moduleClass},
                       {"backward", source.backward},
                       {"stack", stackJson(source.stack)}});
  }
  Json ties = Json::array();
  for (const OutputTie& tie : provenance.ties) {
    ties.push_back({{"arg", tie.arg},
                    {"source", tie.source},
                    {"confidence", tie.confidence},
                    {"how", tie.how}});
  }
  return {{"graph", provenance.graph},
          {"name", provenance.kernel},
          {"sources", std::move(sources)},
          {"ties", std::move(ties)}};
}

}  // namespace

void writeTraceLine(const Reader& trace, std::ostream& out) {
  const Coverage coverage = trace.coverage();
  Json skipped = Json::object();
  for (const auto& [reason, count] : coverage.skipped) skipped[reason] = count;
  Json environment = Json::object();
  for (const KeyValue& entry : trace.environment()) environment[entry.key] = entry.value;
  writeLine({{"type", "trace"},
             {"schema", "ulpscope.show/1"},
             {"path", trace.path()},
             {"format_version", trace.formatVersion()},
             {"fingerprint_version", trace.fingerprintVersion()},
             {"complete", trace.complete()},
             {"command", trace.meta("command")},
             {"entries", trace.opCount()},
             {"steps", trace.steps()},
             {"coverage",
              {{"ops", coverage.ops},
               {"kernels", coverage.kernels},
               {"tensors", coverage.tensors},
               {"hashed", coverage.hashed},
               {"skipped", std::move(skipped)},
               {"closure", number(coverage.closure())},
               {"closure_matched", coverage.closureMatched},
               {"closure_broken", coverage.closureBroken},
               {"closure_unchecked", coverage.closureUnchecked},
               {"closure_source", coverage.closureSource}}},
             {"environment", std::move(environment)}},
            out);
}

void writeOpLine(const Reader& trace, const OpTable& table, const Op& op, std::ostream& out) {
  const Schema& schema = trace.schema(op.schema);
  const auto [module, moduleClass] = trace.module(op);
  Json scalars = Json::object();
  for (const Scalar& scalar : trace.scalars(op.scalars)) {
    const bool named = scalar.arg >= 0 && size_t(scalar.arg) < schema.arguments.size();
    scalars[named ? schema.arguments[size_t(scalar.arg)] : std::to_string(scalar.arg)] = scalar.text;
  }
  Json operands = Json::array();
  for (const Operand& operand : table.of(op)) operands.push_back(operandJson(trace, schema, operand));

  Json line = {{"type", "op"},
               {"id", op.id.value},
               {"parent", op.parent ? Json(op.parent.value) : Json(nullptr)},
               {"kind", kindText(op.kind)},
               {"op", schema.name},
               {"overload", schema.overload},
               {"step", op.step},
               {"phase", name(op.phase)},
               {"thread", op.thread},
               {"sequence", op.sequence},
               {"raised", op.raised},
               {"module", module},
               {"module_class", moduleClass},
               {"regions", regionsJson(trace, op.region)},
               {"scalars", std::move(scalars)},
               {"stack", stackJson(trace.stack(op.stack))},
               {"operands", std::move(operands)}};
  if (op.provenance) line["kernel"] = kernelJson(trace.provenance(op.provenance));
  writeLine(line, out);
}

void writeEventLine(const Event& event, std::ostream& out) {
  const Json detail = Json::parse(event.text, nullptr, false);
  writeLine({{"type", "event"},
             {"at", event.at.value},
             {"kind", event.kind},
             {"detail", detail.is_discarded() ? Json(event.text) : detail}},
            out);
}

}  // namespace ulpscope
