/// Speed and size of traces: `ulpscope_store_bench [OPS [FILE]]` writes OPS (default one million)
/// synthetic ops, two inputs and one output each, every output with a fingerprint of its own, and
/// reads them back. Prints one line a measurement.

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

void write(Writer& writer, int64_t ops) {
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
    if (buffer.size() > (size_t{256} << 10)) writer.submit(buffer);
  }
  writer.submit(buffer);
  writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t ops = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::string path = argc > 2 ? argv[2] : "/tmp/ulpscope_store_bench.ulps";
  const auto n = static_cast<double>(ops);

  Writer::Options options;
  options.overwrite = true;
  {
    const auto start = Clock::now();
    const double cpu = cpuSeconds();
    Writer writer(path, options);
    write(writer, ops);
    const double wall = secondsSince(start);
    if (!writer.error().empty()) {
      fmt::print("{}\n", writer.error());
      return 1;
    }
    fmt::print(
        "write     {:.2f} s wall, {:.2f} us/op wall, {:.2f} us/op CPU of all threads, {:.0f} MiB "
        "resident\n",
        wall, wall / n * 1e6, (cpuSeconds() - cpu) / n * 1e6, residentMiB());
  }
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  fmt::print("file      {:.1f} MiB, {:.1f} bytes/op\n", size / 1048576, size / n);

  auto start = Clock::now();
  const Reader reader(path);
  fmt::print("open      {:.1f} ms\n", secondsSince(start) * 1e3);
  start = Clock::now();
  const OpTable table = reader.readAll();
  fmt::print("readAll   {:.3f} s, {} ops, {} operands, {:.0f} MiB resident\n", secondsSince(start),
             table.ops.size(), table.operands.size(), residentMiB());
  start = Clock::now();
  uint64_t mixed = 0;
  for (const Operand& operand : table.operands) mixed ^= reader.digest(operand.fingerprint).low;
  fmt::print("digests   {:.3f} s ({:x})\n", secondsSince(start), mixed);
  start = Clock::now();
  double sum = 0;
  for (const Operand& operand : table.operands)
    sum += reader.fingerprint(operand.fingerprint).statistics.l1;
  fmt::print("statistics {:.3f} s ({})\n", secondsSince(start), sum);
  start = Clock::now();
  size_t named = 0;
  for (const Op& op : table.ops) named += reader.module(op).first.size();
  fmt::print("modules   {:.3f} s ({})\n", secondsSince(start), named);
  start = Clock::now();
  OpTable page;
  reader.readOps({ops / 2}, 100, page);
  fmt::print("page      {:.2f} ms\n", secondsSince(start) * 1e3);
  std::filesystem::remove(path);
}
