#include "gui/models/element_values.h"

#include <QStringList>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fingerprint/elementwise.h"
#include "fingerprint/float_formats.h"
#include "gui/models/format.h"

namespace ulpscope::gui {
namespace {

template <class T, class Convert>
std::vector<double> convert(std::span<const std::byte> bytes, Convert to) {
  if (bytes.size() % sizeof(T) != 0) return {};
  std::vector<double> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = double(to(value));
  }
  return values;
}

template <class T>
std::vector<double> plain(std::span<const std::byte> bytes) {
  return convert<T>(bytes, [](T value) { return value; });
}

std::vector<double> byTable(std::span<const std::byte> bytes, const std::array<float, 256>& table) {
  return convert<uint8_t>(bytes, [&](uint8_t value) { return table[value]; });
}

bool isComplex(DType dtype) { return info(dtype).kind == NumberKind::complex; }

double magnitude(const std::vector<double>& values, int components, int64_t element) {
  const size_t at = size_t(element) * size_t(components);
  return components == 1 ? std::abs(values[at]) : std::hypot(values[at], values[at + 1]);
}

/// NaN on both sides is equal, as a bit for bit comparison would mostly find; on one it is infinite.
double componentDifference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(b - a);
  return std::isnan(difference) ? INFINITY : difference;
}

void takeHistogram(const ElementComparison& comparison, ElementPicture& result) {
  int last = 3;
  for (int i = 0; i < kUlpBuckets; ++i)
    if (comparison.histogram[size_t(i)] != 0) last = std::max(last, i);
  for (int i = 0; i <= last; ++i)
    result.histogram.push_back({ulpBucketEnd(i), comparison.histogram[size_t(i)]});
  if (const int64_t rest = comparison.nonFinite + comparison.payloads)
    result.histogram.push_back({INFINITY, rest});
}

void layOut(ElementPicture& result) {
  const int64_t count = result.elements();
  int64_t columns = 1;
  for (size_t i = result.type.sizes.size(); i-- > 0 && columns == 1;) columns = result.type.sizes[i];
  if (columns == count && count > 512)  // a long vector is folded like text
    columns = int64_t(std::ceil(std::sqrt(double(count))));
  result.columns = std::max<int64_t>(1, columns);
  result.rows = (count + result.columns - 1) / result.columns;
}

}  // namespace

std::vector<double> decodeElements(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::Float32:
    case DType::Complex64: return plain<float>(bytes);
    case DType::Float64:
    case DType::Complex128: return plain<double>(bytes);
    case DType::Float16:
    case DType::Complex32: return convert<uint16_t>(bytes, widenHalf);
    case DType::BFloat16: return convert<uint16_t>(bytes, widenBFloat16);
    case DType::Float8_e5m2: return byTable(bytes, kFloat8E5M2Values);
    case DType::Float8_e4m3fn: return byTable(bytes, kFloat8E4M3FnValues);
    case DType::Float8_e5m2fnuz: return byTable(bytes, kFloat8E5M2FnuzValues);
    case DType::Float8_e4m3fnuz: return byTable(bytes, kFloat8E4M3FnuzValues);
    case DType::Float8_e8m0fnu: return byTable(bytes, kFloat8E8M0Values);
    default: break;
  }
  const DTypeInfo& known = info(dtype);
  const bool isSigned = known.kind == NumberKind::signedInt;
  if (known.kind == NumberKind::raw || known.kind == NumberKind::floating) return {};
  switch (known.bytes) {
    case 1: return isSigned ? plain<int8_t>(bytes) : plain<uint8_t>(bytes);
    case 2: return isSigned ? plain<int16_t>(bytes) : plain<uint16_t>(bytes);
    case 4: return isSigned ? plain<int32_t>(bytes) : plain<uint32_t>(bytes);
    case 8: return isSigned ? plain<int64_t>(bytes) : plain<uint64_t>(bytes);
    default: return {};
  }
}

std::vector<ElementRequest> capturedOperands(const Document& document, uint32_t pair) {
  std::vector<ElementRequest> requests;
  if (pair >= document.pairs().size()) return requests;
  const Pair& at = document.pairs()[pair];
  struct Shown {
    ElementRequest request;
    int rank;
  };
  std::vector<Shown> found;
  for (const OperandMatch& match : matchOperands(document, at)) {
    ElementRequest request;
    const auto take = [&](SideName which, int64_t opIndex, int64_t operandIndex) {
      if (opIndex < 0 || operandIndex < 0) return false;
      const Side& side = document.side(which);
      const Operand& operand = side.ops.operands[size_t(operandIndex)];
      if (!operand.fingerprint || !side.reader->captured(operand.fingerprint)) return false;
      const TensorType& type = side.reader->type(operand.type);
      if (!request.title.isEmpty() &&
          (type.dtype != request.type.dtype || type.sizes != request.type.sizes))
        return false;
      (which == SideName::a ? request.a : request.b) = operand.fingerprint;
      (which == SideName::a ? request.pathA : request.pathB) = side.path;
      if (!request.title.isEmpty()) return true;
      request.type = type;
      const Op& op = side.ops.ops[size_t(opIndex)];
      request.title = QString("%1: %2  %3").arg(opShortTitle(side, op), operandName(side, op, operand),
                                                typeText(type));
      return true;
    };
    const bool a = take(SideName::a, match.opA, match.a);
    const bool b = take(SideName::b, match.opB, match.b);
    if (!a && !b) continue;
    if (!document.single && a != b) request.title += a ? "  (A alone)" : "  (B alone)";
    const bool decided = match.a >= 0 && match.b >= 0 && match.a == at.operandA && match.b == at.operandB;
    const int rank = (a && b ? 0 : 8) + (decided ? 0 : match.equality == Equality::unequal ? 1 : 2) +
                     (match.written ? 0 : 3);
    found.push_back({std::move(request), rank});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Shown& x, const Shown& y) { return x.rank < y.rank; });
  for (Shown& each : found) requests.push_back(std::move(each.request));
  return requests;
}

ElementPicture loadElements(const ElementRequest& request) {
  ElementPicture result;
  result.type = request.type;
  result.components = isComplex(request.type.dtype) ? 2 : 1;
  const auto read = [](const std::string& path, FingerprintId id) {
    return id ? Reader(path).values(id).value_or(std::vector<std::byte>()) : std::vector<std::byte>();
  };
  const auto bytesA = read(request.pathA, request.a);
  const auto bytesB = read(request.pathB, request.b);
  const auto decode = [&](std::span<const std::byte> bytes) {
    auto values = decodeElements(request.type.dtype, bytes);
    if (values.size() % size_t(result.components) != 0) values.clear();
    return values;
  };
  result.a = decode(bytesA);
  result.b = decode(bytesB);
  result.both = !result.a.empty() && result.a.size() == result.b.size();
  const std::vector<double>& some = result.a.empty() ? result.b : result.a;
  const int64_t count = int64_t(some.size()) / result.components;
  result.shown.resize(size_t(count));
  for (int64_t i = 0; i < count; ++i) {
    double value = 0;
    if (result.both) {
      for (int c = 0; c < result.components; ++c) {
        const size_t at = size_t(i * result.components + c);
        value = std::hypot(value, componentDifference(result.a[at], result.b[at]));
      }
    } else {
      value = result.components == 1 ? some[size_t(i)] : magnitude(some, 2, i);
    }
    // A difference too small for float32 is still one.
    const float narrow = float(value);
    result.shown[size_t(i)] = value != 0 && narrow == 0 ? std::numeric_limits<float>::denorm_min()
                                                        : narrow;
    const double size = std::abs(value);
    if (size > result.largest || (result.worst < 0 && size > 0)) {
      result.largest = size;
      result.worst = i;
    }
  }
  if (result.both) {
    const DType dtype = request.type.dtype;
    const ElementComparison comparison =
        compareElements(bytesA, dtype, bytesB, dtype, DifferenceOrder::absolute, 0);
    result.differing = comparison.differing;
    result.largestUlps = comparison.maxUlps;
    result.inUlps = info(dtype).significandBits > 0;
    takeHistogram(comparison, result);
  }
  layOut(result);
  return result;
}

QString ElementPicture::indexText(int64_t element) const {
  QStringList parts;
  for (size_t i = type.sizes.size(); i-- > 0;) {
    const int64_t size = std::max<int64_t>(1, type.sizes[i]);
    parts.prepend(QString::number(element % size));
    element /= size;
  }
  return "[" + parts.join(", ") + "]";
}

QString ElementPicture::elementText(int64_t element) const {
  const auto value = [&](const std::vector<double>& values) {
    const size_t at = size_t(element * components);
    // As many digits as tell two neighbours apart.
    const int digits = info(type.dtype).significandBits > 24 ? 17 : 9;
    const QString real = QString::number(values[at], 'g', digits);
    return components == 1 ? real : real + " + " + QString::number(values[at + 1], 'g', digits) + "i";
  };
  QStringList parts;
  if (!a.empty()) parts << "A " + value(a);
  if (!b.empty()) parts << "B " + value(b);
  if (both) parts << "difference " + numberText(double(shown[size_t(element)]));
  return parts.join(", ");
}

QString ElementPicture::summary() const {
  if (shown.empty()) return "these values can't be shown as numbers";
  if (!both)
    return QString("%L1 elements, the largest in size %2 at %3")
        .arg(elements())
        .arg(numberText(largest), worst < 0 ? QString("every place") : indexText(worst));
  if (differing == 0) return QString("all %L1 elements are equal").arg(elements());
  QString text = QString("%L1 of %L2 %3 differ; most at %4: %5")
                     .arg(differing)
                     .arg(elements() * components)
                     .arg(components == 1 ? "elements" : "components")
                     .arg(indexText(worst), elementText(worst));
  if (inUlps) text += "; at most " + ulpText(float(largestUlps));
  return text;
}

}  // namespace ulpscope::gui
