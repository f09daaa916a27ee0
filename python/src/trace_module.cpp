#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "store/reader.h"

// ulpscope._trace: the reader of traces as plain Python values. Links no torch. ulpscope/trace.py
// gives them types.

namespace ulpscope::python {
namespace {

namespace py = pybind11;

const char* kindName(OpKind kind) {
  switch (kind) {
    case OpKind::op: return "op";
    case OpKind::kernel: return "kernel";
    case OpKind::compiled: return "compiled";
    case OpKind::wrapper: return "wrapper";
    case OpKind::collective: return "collective";
  }
  return "unknown";
}

const char* phaseName(Phase phase) {
  switch (phase) {
    case Phase::other: return "other";
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::optimizer: return "optimizer";
  }
  return "unknown";
}

const char* regionName(RegionKind kind) {
  switch (kind) {
    case RegionKind::module: return "module";
    case RegionKind::compiled: return "compiled";
    case RegionKind::autograd: return "autograd";
    case RegionKind::optimizer: return "optimizer";
    case RegionKind::scope: return "scope";
    case RegionKind::higherOrder: return "higher_order";
  }
  return "unknown";
}

const char* roleName(Role role) {
  switch (role) {
    case Role::input: return "input";
    case Role::output: return "output";
    case Role::before: return "before";
    case Role::after: return "after";
  }
  return "unknown";
}

const char* layoutName(Layout layout) {
  switch (layout) {
    case Layout::strided: return "strided";
    case Layout::sparse: return "sparse";
    case Layout::nested: return "nested";
    case Layout::mkldnn: return "mkldnn";
    case Layout::other: return "other";
  }
  return "unknown";
}

const char* closureName(Closure closure) {
  switch (closure) {
    case Closure::unchecked: return "unchecked";
    case Closure::source: return "source";
    case Closure::matched: return "matched";
    case Closure::broken: return "broken";
  }
  return "unknown";
}

py::object idOrNone(int64_t id) { return id == 0 ? py::none().cast<py::object>() : py::int_(id); }

py::list framesOf(const Stack& stack) {
  py::list frames;
  for (const Frame& frame : stack) {
    frames.append(py::make_tuple(frame.file, frame.line, frame.function));
  }
  return frames;
}

py::dict statisticsOf(const Statistics& s) {
  py::dict result;
  result["components"] = s.components;
  result["nan"] = s.nan;
  result["positive_infinity"] = s.positiveInfinity;
  result["negative_infinity"] = s.negativeInfinity;
  result["zero"] = s.zero;
  result["negative_zero"] = s.negativeZero;
  result["subnormal"] = s.subnormal;
  result["min"] = s.min;
  result["max"] = s.max;
  result["sum"] = s.sum;
  result["l1"] = s.l1;
  result["sum_squares"] = s.sumSquares;
  return result;
}

py::dict operandOf(const Reader& reader, const Operand& operand) {
  const TensorType& type = reader.type(operand.type);
  py::dict result;
  result["role"] = roleName(operand.role);
  result["arg"] = operand.arg;
  result["item"] = operand.item < 0 ? py::none().cast<py::object>() : py::int_(operand.item);
  result["dtype"] = info(type.dtype).name;
  result["shape"] = py::tuple(py::cast(type.sizes));
  result["strides"] = py::tuple(py::cast(type.strides));
  result["device"] = type.device;
  result["layout"] = layoutName(type.layout);
  result["flags"] = operand.flags;
  result["storage"] = idOrNone(operand.storage.value);
  result["offset"] = operand.offset;
  result["writer"] = idOrNone(operand.writer.value);
  result["closure"] = closureName(operand.closure);
  result["skipped"] = operand.skip == SkipReason::none ? py::none().cast<py::object>()
                                                       : py::str(name(operand.skip));
  result["digest"] = py::none();
  result["fingerprint"] = idOrNone(operand.fingerprint.value);
  result["captured"] = reader.captured(operand.fingerprint);
  result["statistics"] = py::none();
  result["sketch"] = py::none();
  if (operand.fingerprint) {
    const Fingerprint fingerprint = reader.fingerprint(operand.fingerprint);
    result["digest"] = toHex(fingerprint.digest);
    if (fingerprint.level >= Level::statistics) {
      result["statistics"] = statisticsOf(fingerprint.statistics);
    }
    if (fingerprint.level >= Level::full) {
      result["sketch"] = py::tuple(py::cast(fingerprint.sketch));
    }
  }
  return result;
}

py::dict provenanceOf(const Provenance& provenance) {
  py::list sources;
  for (const SourceOp& source : provenance.sources) {
    py::dict entry;
    entry["node"] = source.node;
    entry["op"] = source.op;
    entry["overload"] = source.overload;
    entry["module"] = source.module;
    entry["module_class"] = source.moduleClass;
    entry["backward"] = source.backward;
    entry["order"] = source.order;
    entry["stack"] = framesOf(source.stack);
    sources.append(entry);
  }
  py::list ties;
  for (const OutputTie& tie : provenance.ties) {
    py::dict entry;
    entry["arg"] = tie.arg;
    entry["source"] = tie.source;
    entry["confidence"] = tie.confidence;
    entry["how"] = tie.how;
    ties.append(entry);
  }
  py::dict result;
  result["graph"] = provenance.graph;
  result["kernel"] = provenance.kernel;
  result["sources"] = sources;
  result["ties"] = ties;
  result["code"] = provenance.code;
  return result;
}

py::dict opOf(const Reader& reader, const OpTable& table, const Op& op) {
  const Schema& schema = reader.schema(op.schema);
  py::dict result;
  result["id"] = op.id.value;
  result["parent"] = idOrNone(op.parent.value);
  result["kind"] = kindName(op.kind);
  result["name"] = schema.name;
  result["overload"] = schema.overload;
  result["phase"] = phaseName(op.phase);
  result["step"] = op.step;
  result["thread"] = op.thread;
  result["raised"] = op.raised;
  result["sequence"] = op.sequence < 0 ? py::none().cast<py::object>() : py::int_(op.sequence);
  const auto [module, moduleClass] = reader.module(op);
  result["module"] = module;
  result["module_class"] = moduleClass;
  py::list regions;  // innermost first
  for (RegionId id = op.region; id;) {
    const Region& region = reader.region(id);
    regions.append(py::make_tuple(regionName(region.kind), region.name, region.detail));
    id = region.parent < id ? region.parent : RegionId{};  // a damaged file must not make a loop
  }
  result["regions"] = regions;
  py::list operands;
  for (const Operand& operand : table.of(op)) operands.append(operandOf(reader, operand));
  result["operands"] = operands;
  py::dict scalars;
  for (const Scalar& scalar : reader.scalars(op.scalars)) {
    const bool named = scalar.arg >= 0 && size_t(scalar.arg) < schema.arguments.size();
    const py::object key = named ? py::str(schema.arguments[size_t(scalar.arg)]).cast<py::object>()
                                 : py::int_(scalar.arg);
    scalars[key] = scalar.text;
  }
  result["scalars"] = scalars;
  result["stack"] = framesOf(reader.stack(op.stack));
  result["provenance"] = op.provenance ? provenanceOf(reader.provenance(op.provenance)).cast<py::object>()
                                       : py::none();
  return result;
}

py::list opsOf(const Reader& reader, int64_t first, int64_t limit) {
  OpTable table;
  reader.readOps(OpId{first}, limit, table);
  py::list result;
  for (const Op& op : table.ops) result.append(opOf(reader, table, op));
  return result;
}

py::dict coverageOf(const Reader& reader) {
  const Coverage coverage = reader.coverage();
  py::dict skipped;
  for (const auto& [reason, count] : coverage.skipped) skipped[py::str(reason)] = count;
  py::dict result;
  result["ops"] = coverage.ops;
  result["kernels"] = coverage.kernels;
  result["tensors"] = coverage.tensors;
  result["hashed"] = coverage.hashed;
  result["skipped"] = skipped;
  result["closure"] = coverage.closure();
  result["closure_matched"] = coverage.closureMatched;
  result["closure_broken"] = coverage.closureBroken;
  result["closure_unchecked"] = coverage.closureUnchecked;
  result["closure_source"] = coverage.closureSource;
  return result;
}

}  // namespace

PYBIND11_MODULE(_trace, extension) {
  extension.def(
      "digest",
      [](const py::bytes& elements) {
        const std::string_view bytes = elements;
        const auto size = int64_t(bytes.size());
        return toHex(fingerprint({.data = bytes.data(), .dtype = DType::UInt8, .dim = 1, .sizes = &size},
                                 Level::digest)
                         .digest);
      },
      "The digest that a tensor with these elements, in row-major order, has in a trace.");
  py::register_exception<TraceError>(extension, "TraceError", PyExc_OSError);
  py::class_<Reader>(extension, "Reader")
      .def(py::init<const std::string&>())
      .def_property_readonly("path", &Reader::path)
      .def_property_readonly("format_version", &Reader::formatVersion)
      .def_property_readonly("fingerprint_version", &Reader::fingerprintVersion)
      .def_property_readonly("complete", &Reader::complete)
      .def("meta", &Reader::meta)
      .def("environment",
           [](const Reader& reader) {
             py::dict result;
             for (const auto& [key, value] : reader.environment()) result[py::str(key)] = value;
             return result;
           })
      .def("coverage", &coverageOf)
      .def("events",
           [](const Reader& reader) {
             py::list result;
             for (const Event& event : reader.events()) {
               result.append(py::make_tuple(event.at.value, event.kind, event.text));
             }
             return result;
           })
      .def("values",
           [](const Reader& reader, int64_t fingerprint) -> py::object {
             const auto values = reader.values(FingerprintId{fingerprint});
             if (!values) return py::none();
             return py::bytes(reinterpret_cast<const char*>(values->data()), values->size());
           })
      .def("op_count", &Reader::opCount)
      .def("steps", &Reader::steps)
      .def("ops", &opsOf, py::arg("first"), py::arg("limit"));
}

}  // namespace ulpscope::python
