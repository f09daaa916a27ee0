#include "gate/folder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "diff/environment.h"
#include "diff/side_index.h"
#include "store/error.h"

namespace ulpscope::gate {
namespace {

namespace fs = std::filesystem;

bool isKeyFact(std::string_view key) {
  static constexpr std::array kFacts = {
      "torch.version", "torch.git_version", "torch.config",   "cpu.capability", "cpu.model",
      "mkl.version",   "mkldnn.version",    "threads.intra_op"};
  static constexpr std::array kPrefixes = {"env.MKL_", "env.MKLDNN_", "env.DNNL_", "env.ONEDNN_",
                                           "env.OPENBLAS_", "env.ATEN_CPU_"};
  return std::find(kFacts.begin(), kFacts.end(), key) != kFacts.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return key.starts_with(prefix); });
}

std::string valueOf(const std::vector<KeyValue>& facts, std::string_view key) {
  for (const KeyValue& each : facts) {
    if (each.key == key) return each.value;
  }
  return "unknown";
}

/// Letters, digits, dots: what every file system and shell takes.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    out += good ? c : '_';
  }
  return out;
}

}  // namespace

std::vector<KeyValue> keyFacts(const std::vector<KeyValue>& environment) {
  std::vector<KeyValue> facts;
  for (const KeyValue& each : environment) {
    if (isKeyFact(each.key)) facts.push_back(each);
  }
  std::sort(facts.begin(), facts.end(),
            [](const KeyValue& x, const KeyValue& y) { return x.key < y.key; });
  return facts;
}

std::string environmentKey(const std::vector<KeyValue>& environment) {
  const std::vector<KeyValue> facts = keyFacts(environment);
  uint64_t hash = 1;
  for (const KeyValue& each : facts) hash = mix(mix(hash, hashText(each.key)), hashText(each.value));
  const std::string threads = valueOf(facts, "threads.intra_op");
  return fmt::format("torch{}-{}-{}thread{}-{:08x}", plain(valueOf(facts, "torch.version")),
                     plain(valueOf(facts, "cpu.capability")), plain(threads), threads == "1" ? "" : "s",
                     uint32_t(hash >> 32));
}

std::vector<Folder::Entry> Folder::baselines() const {
  std::vector<Entry> found;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".baseline") continue;
    Entry each{entry->path().stem().string(), entry->path(), readEnvironment(entry->path().string())};
    if (!each.environment.empty()) found.push_back(std::move(each));
  }
  std::sort(found.begin(), found.end(), [](const Entry& x, const Entry& y) { return x.key < y.key; });
  return found;
}

std::optional<Folder::Entry> Folder::nearest(const std::vector<KeyValue>& environment) const {
  const std::vector<KeyValue> own = keyFacts(environment);
  std::optional<Entry> best;
  size_t fewest = 0;
  for (Entry& each : baselines()) {
    const size_t differing = compareEnvironments(keyFacts(each.environment), own).size();
    if (!best || differing < fewest) {
      fewest = differing;
      best = std::move(each);
    }
  }
  return best;
}

std::string Folder::rulesFile() const {
  const fs::path file = path_ / "rules.toml";
  std::error_code error;
  return fs::exists(file, error) ? file.string() : "";
}

void Folder::writeFile(const fs::path& file, const std::string& content) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path part = file.string() + fmt::format(".{}.part", getpid());
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  if (out) fs::rename(part, file, error);
  if (!out || error) {
    const std::string why = error ? error.message() : std::strerror(errno);
    fs::remove(part, error);
    throw TraceError(TraceError::Code::io, fmt::format("can't write {} ({}); choose another folder with "
                                                       "--dir", file.string(), why));
  }
}

void Folder::ignoreChecked() const {
  const fs::path file = path_ / ".gitignore";
  std::error_code error;
  if (!fs::exists(file, error)) writeFile(file, "/checked/\n");
}

}  // namespace ulpscope::gate
