#include "dispatch_hook/native/generated_object.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dispatch_hook/instrument.h"
#include "dispatch_hook/json_text.h"
#include "dispatch_hook/native/shim_op.h"
#include "dispatch_hook/native/source_dataflow.h"

namespace ulpscope::native {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> contentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void say(const std::string& text) {
  instrument::event("message", "{\"text\": " + jsonText(text) + "}");
}

bool isKernel(std::string_view function) { return !function.starts_with("aoti_torch_"); }

}  // namespace

ProvenanceId CallSite::id() const {
  const std::lock_guard guard(mutex_);
  return id_.get(instrument::generation(), [this] { return instrument::provenance(provenance); });
}

GeneratedObject::GeneratedObject(const LoadedObject& object, std::string_view record) {
  const fs::path path = object.path;
  name_ = path.stem().string();
  std::error_code error;
  if (auto text = contentOf(fs::path(path).replace_extension(".cpp"))) {
    source_.emplace(std::move(*text));
  }
  const fs::path folder = path.parent_path();
  // A package keeps the kernels in a file of their own.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!source_ || !entry.path().string().ends_with(".kernel.cpp")) continue;
    if (auto text = contentOf(entry.path())) {
      definitions_.push_back(std::make_unique<GeneratedSource>(std::move(*text)));
    }
  }
  std::string why;
  if (!record.empty()) {
    records_ = readSiteRecords(record, why);
  } else if (const auto text = contentOf(folder / kSiteRecordFile)) {
    records_ = readSiteRecords(*text, why);
  }
  if (!why.empty()) say("kernels of " + name_ + " have no ties: " + why);
  if (records_.empty()) {
    if (const auto text = contentOf(folder / "kernel_information.json")) {
      records_ = readKernelInformation(*text);
    }
  }
}

const KernelSignature* GeneratedObject::signature(const std::string& kernel) const {
  if (!source_) return nullptr;
  const auto found = source_->kernels().find(kernel);
  return found == source_->kernels().end() ? nullptr : &found->second;
}

Provenance GeneratedObject::anonymous(const std::string& kernel) const {
  Provenance provenance;
  provenance.graph = name_;
  provenance.kernel = kernel;
  provenance.code = definition(kernel);
  return provenance;
}

std::string_view GeneratedObject::definition(const std::string& kernel) const {
  if (source_ && !source_->definition(kernel).empty()) return source_->definition(kernel);
  for (const auto& each : definitions_) {
    if (!each->definition(kernel).empty()) return each->definition(kernel);
  }
  return {};
}

std::unique_ptr<CallSite> GeneratedObject::site(const WrittenCall& call) const {
  auto site = std::make_unique<CallSite>();
  site->provenance = anonymous(call.function);
  const KernelSignature* signature = this->signature(call.function);
  std::vector<std::string> names;
  if (signature != nullptr) {
    for (const KernelParameter& each : signature->parameters) names.push_back(each.name);
  } else {
    names = {"out"};
  }
  SiteRecord byName;
  const SiteRecord* record = nullptr;
  if (const auto found = records_.find(call.handle); found != records_.end()) {
    record = &found->second;
  } else {
    byName = siteFromName(call.function);
    record = &byName;
  }
  if (isKernel(call.function) && record->ties.empty() && signature != nullptr) {
    SiteRecord read = *record;
    readSite(*source_, call, *signature,
             [this](const std::string& kernel) { return definition(kernel); }, read);
    byName = std::move(read);
    record = &byName;
  }
  site->provenance.sources = record->sources;
  if (site->provenance.sources.empty() && !isKernel(call.function)) {
    if (const ShimOp* op = shimOp(call.function)) {
      SourceOp& source = site->provenance.sources.emplace_back();
      source.op = op->info->schema.name;
      const std::string& overload = op->info->schema.overload;
      source.overload = overload.empty() || overload == "out" ? "default" : overload;
    }
  }
  const auto indexOf = [&](const std::string& name) {
    return size_t(std::ranges::find(names, name) - names.begin());
  };
  if (record == &byName || site->provenance.sources.size() > record->sources.size()) {
    // No record: the ops of the program are taken to come in the order of the calls.
    constexpr int32_t kOpsOfACall = 1000;
    const auto at = int32_t(&call - source_->calls().data());
    int32_t order = at * kOpsOfACall;
    for (SourceOp& source : site->provenance.sources) source.order = order++;
  }
  for (auto [parameter, tie] : record->ties) {
    const size_t arg = indexOf(parameter);
    if (arg == names.size()) continue;
    tie.arg = int16_t(arg);
    site->provenance.ties.push_back(tie);
  }
  site->uninitialised.resize(names.size());
  site->unwritten.resize(names.size());
  for (const std::string& name : record->uninitialised) {
    if (indexOf(name) < names.size()) site->uninitialised[indexOf(name)] = true;
  }
  for (const std::string& name : record->unwritten) {
    if (indexOf(name) < names.size()) site->unwritten[indexOf(name)] = true;
  }
  return site;
}

std::vector<std::pair<const void*, std::unique_ptr<CallSite>>> GeneratedObject::sites(
    const LoadedObject& object, const std::vector<Slot>& slots) const {
  std::vector<std::pair<const void*, std::unique_ptr<CallSite>>> found;
  if (!source_) return found;
  const auto places = object.callsThrough(slots);
  for (size_t i = 0; i < slots.size(); ++i) {
    std::vector<const WrittenCall*> written;
    for (const WrittenCall& call : source_->calls()) {
      if (call.function == slots[i].symbol) written.push_back(&call);
    }
    // The compiler keeps the order of calls in code without branches around them. Where it made one
    // call two, or two one, nobody can tell which is which.
    if (written.size() != places[i].size()) {
      say("calls of " + std::string(slots[i].symbol) + " in " + name_ +
          " cannot be told apart: " + std::to_string(written.size()) + " in the source, " +
          std::to_string(places[i].size()) + " in the code");
      continue;
    }
    for (size_t n = 0; n < written.size(); ++n) {
      found.emplace_back(places[i][n], site(*written[n]));
    }
  }
  return found;
}

std::vector<std::string> GeneratedObject::unreachable(const std::vector<Slot>& slots) const {
  std::vector<std::string> missing;
  if (!source_) return missing;
  for (const WrittenCall& call : source_->calls()) {
    if (!isKernel(call.function)) continue;
    const bool has = std::ranges::any_of(
        slots, [&](const Slot& slot) { return slot.symbol == call.function; });
    if (!has && std::ranges::find(missing, call.function) == missing.end()) {
      missing.push_back(call.function);
    }
  }
  return missing;
}

size_t GeneratedObject::calls(bool ofKernels) const {
  if (!source_) return 0;
  return size_t(std::ranges::count_if(source_->calls(), [&](const WrittenCall& call) {
    return isKernel(call.function) == ofKernels;
  }));
}

}  // namespace ulpscope::native
