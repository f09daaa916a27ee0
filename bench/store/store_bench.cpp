/// Speed and size of traces: `ulpscope_store_bench [OPS [FILE]]` writes OPS (default one million)
/// synthetic ops, two inputs and one output each, every output with a fingerprint of its own, and
/// reads them back. Prints one line a measurement.

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "store/reader.h"
#include "store/scalars.h"
#include "store/writer.h"

namespace {

using namespace ulpscope;
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Resident memory now, MiB.
double residentMiB() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096 / 1048576;
}

/// Real fingerprints of float32 data, varied cheaply: another digest, another sum.
std::vector<Fingerprint> fingerprints() {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<Fingerprint> result;
  for (int64_t elements : {1, 64, 768, 16384, 65536}) {
    for (int i = 0; i < 16; ++i) {
      std::vector<float> values(static_cast<size_t>(elements));
      for (float& value : values) value = normal(random);
      StridedView view;
      view.data = values.data();
      view.dtype = DType::Float32;
      view.dim = 1;
      view.sizes = &elements;
      result.push_back(fingerprint(view, Level::full));
    }
  }
  return result;
}

template <class Submit>
void produce(Writer& writer, int64_t ops, Submit&& submit) {
  constexpr int64_t kOpsPerStep = 2000;
  const std::vector<Fingerprint> samples = fingerprints();
  std::vector<SchemaId> schemas;
  for (int i = 0; i < 60; ++i) {
    schemas.push_back(
        writer.schema({"aten::op" + std::to_string(i), "", {"self", "other"}, {"out"}}));
  }
  const StringId module = writer.string("transformer.h.0.mlp");
  const StringId className = writer.string("GPT2MLP");
  ScalarPacker scalars;
  EventBuffer buffer;
  std::mt19937_64 random(2);
  int64_t region = 0;
  int64_t storage = 0;
  for (int64_t id = 1; id <= ops; ++id) {
    const int64_t inStep = id % kOpsPerStep;
    if (inStep % 10 == 0) {
      buffer.addRegion({.id = {++region},
                        .kind = RegionKind::module,
                        .step = static_cast<int32_t>(id / kOpsPerStep),
                        .begin = {id},
                        .name = module,
                        .detail = className});
    }
    scalars.clear();
    if (inStep % 4 == 0) scalars.integer(2, inStep % 64);
    RawOp op;
    op.id = {id};
    op.phase = inStep < 800 ? Phase::forward : Phase::backward;
    op.step = static_cast<int32_t>(id / kOpsPerStep);
    op.region = {region};
    op.schema = schemas[static_cast<size_t>(inStep * 7 % 60)];
    op.sequence = id;
    op.operandCount = 3;
    op.scalarBytes = static_cast<uint32_t>(scalars.bytes().size());
    buffer.addOp(op, scalars.bytes());
    for (int i = 0; i < 3; ++i) {
      const int64_t produced =
          std::max<int64_t>(1, i == 2 ? id : id - 1 - static_cast<int64_t>(random() % 40));
      Fingerprint fingerprint = samples[static_cast<size_t>(produced) % samples.size()];
      fingerprint.digest = {static_cast<uint64_t>(produced) * 0x9e3779b97f4a7c15,
                            static_cast<uint64_t>(produced) * 0xbf58476d1ce4e5b9};
      RawOperand operand;
      operand.role = i == 2 ? Role::output : Role::input;
      operand.closure = i == 2 ? Closure::unchecked : Closure::matched;
      operand.arg = static_cast<int16_t>(i % 2);
      operand.dtype = DType::Float32;
      operand.dim = 3;
      operand.hasStrides = true;
      operand.hasFingerprint = true;
      operand.storage = {i == 2 ? ++storage : std::max<int64_t>(1, produced)};
      operand.writer = {i == 2 ? 0 : produced};
      const int64_t sizes[] = {8, 128, 256 + produced % 8};
      const int64_t strides[] = {128 * sizes[2], sizes[2], 1};
      buffer.addOperand(operand, sizes, strides, &fingerprint);
    }
    if (buffer.size() > (size_t{256} << 10)) submit(buffer);
  }
  submit(buffer);
}

}  // namespace

/// Prints what `body` took: wall time, and CPU time of all threads, which other load changes less.
template <class Body>
void measure(const char* what, double perUnit, const char* unit, Body&& body) {
  const auto start = Clock::now();
  const double cpu = cpuSeconds();
  const std::string note = body();
  fmt::print("{:10} {:8.3f} s wall, {:8.3f} s CPU, {:6.2f} us CPU/{}  {}\n", what,
             secondsSince(start), cpuSeconds() - cpu, (cpuSeconds() - cpu) / perUnit * 1e6, unit,
             note);
}

int main(int argc, char** argv) {
  const int64_t ops = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::string path =
      argc > 2 ? argv[2] : (std::filesystem::temp_directory_path() / "store_bench.ulps").string();
  const auto n = static_cast<double>(ops);

  {
    measure("events", n, "op", [&] {
      Writer writer(path, {.overwrite = true});
      produce(writer, ops, [&](EventBuffer& events) { events.clear(); });
      return std::string("made and thrown away: part of the next line");
    });
  }
  measure("write", n, "op", [&] {
    Writer writer(path, {.overwrite = true});
    produce(writer, ops, [&](EventBuffer& events) { writer.submit(events); });
    writer.finish();
    if (!writer.error().empty()) {
      fmt::print(stderr, "{}\n", writer.error());
      std::exit(1);
    }
    return fmt::format("{:.0f} MiB resident", residentMiB());
  });
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  fmt::print("file       {:8.1f} MiB, {:.1f} bytes/op\n", size / 1048576, size / n);

  std::optional<Reader> reader;
  measure("open", n, "op", [&] {
    reader.emplace(path);
    return std::string();
  });
  OpTable table;
  measure("readAll", n, "op", [&] {
    table = reader->readAll();
    return fmt::format("{} ops, {} operands, {:.0f} MiB resident", table.ops.size(),
                       table.operands.size(), residentMiB());
  });
  const auto operands = static_cast<double>(table.operands.size());
  measure("digests", operands, "operand", [&] {
    uint64_t mixed = 0;
    for (const Operand& operand : table.operands) mixed ^= reader->digest(operand.fingerprint).low;
    return fmt::format("({:x})", mixed);
  });
  measure("statistics", operands, "operand", [&] {
    double sum = 0;
    for (const Operand& operand : table.operands) {
      sum += reader->fingerprint(operand.fingerprint).statistics.l1;
    }
    return fmt::format("({})", sum);
  });
  measure("modules", n, "op", [&] {
    size_t named = 0;
    for (const Op& op : table.ops) named += !reader->module(op).first.empty();
    return fmt::format("{} named", named);
  });
  measure("page", 100, "op", [&] {
    OpTable page;
    reader->readOps({ops / 2}, 100, page);
    return fmt::format("{} ops", page.ops.size());
  });
  std::filesystem::remove(path);
}
