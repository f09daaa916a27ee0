#include "gate/replay.h"

#include <charconv>
#include <map>
#include <unordered_map>
#include <vector>

#include "gate/operand_line.h"
#include "store/error.h"
#include "store/event_buffer.h"
#include "store/scalars.h"
#include "store/writer.h"

namespace ulpscope::gate {
namespace {

/// What a structure line says, storages still relative.
struct OpLine {
  struct OperandWord {
    RawOperand raw;
    TensorType type;
    char storageKind = '-';  ///< '-', '+', 'n' or 'p'
    int64_t storageNumber = 0;
    uint32_t typeNumber = 0;
  };
  RawOp raw;
  std::string module, moduleClass;
  bool hasModule = false;
  bool hasSequence = false;
  int64_t sequenceStep = 0;
  int64_t parentBack = 0;
  std::vector<OperandWord> operands;
  ScalarPacker scalars;
  std::string sources;  ///< of a kernel, comma-separated
  std::string name;
};

struct View {
  int64_t storage, offset;
  uint32_t type;
  friend bool operator==(const View&, const View&) = default;
};
struct ViewHash {
  size_t operator()(const View& view) const {
    return size_t(view.storage) * 0x9e3779b97f4a7c15 ^ size_t(view.offset) * 0xc2b2ae3d27d4eb4f ^ view.type;
  }
};

uint64_t components(const TensorType& type) {
  uint64_t count = info(type.dtype).kind == NumberKind::complex ? 2 : 1;
  for (const int64_t size : type.sizes) count *= uint64_t(size);
  return count;
}

class Replay {
 public:
  Replay(const Baseline& baseline, const std::string& name, const std::string& path,
         std::span<const OpId> ids)
      : baseline_(baseline), name_(name), ids_(ids), writer_(path, overwriting()) {}

  void run() {
    for (const KeyValue& each : baseline_.environment) writer_.environment(each.key, each.value);
    for (const Schema& schema : baseline_.schemas) {
      schemas_.emplace(schema.qualified(), std::pair(&schema, writer_.schema(schema)));
    }
    for (section_ = 0; section_ < baseline_.sections.size(); ++section_) {
      const Section& section = baseline_.sections[section_];
      localStorages_.clear();
      regions_.clear();
      // Far enough from the section before that no forward op is taken for another's.
      sequence_ += 1 << 20;
      for (at_ = 0; at_ < section.structure.size(); ++at_) {
        op(parsed(section.structure[at_]), section.values[at_], section.step);
      }
    }
    writer_.submit(events_);
    if (baseline_.complete) writer_.finish();
    else writer_.flush();
    if (!writer_.error().empty()) throw TraceError(TraceError::Code::io, writer_.error());
  }

 private:
  static Writer::Options overwriting() {
    Writer::Options options;
    options.overwrite = true;
    return options;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw TraceError(TraceError::Code::corrupt,
                     name_ + ", step " + std::to_string(baseline_.sections[section_].step) + ", op " +
                         std::to_string(at_) + ": " + what +
                         "; take the file from version control again, or record the gate anew");
  }

  template <class T>
  T number(std::string_view& text) const {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) fail("a number should stand at '" + std::string(text.substr(0, 20)) + "'");
    text.remove_prefix(size_t(end - text.data()));
    return value;
  }

  static std::string_view nextWord(std::string_view& line) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view found = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return found;
  }

  /// Lines repeat from step to step: each text is parsed once.
  const OpLine& parsed(const std::string& line) {
    const auto [at, added] = lines_.try_emplace(line);
    if (added) parse(line, at->second);
    return at->second;
  }

  void parse(std::string_view line, OpLine& op) {
    const std::string_view phase = nextWord(line);
    op.raw.phase = phase == "F" ? Phase::forward : phase == "B" ? Phase::backward
                   : phase == "O" ? Phase::optimizer : Phase::other;
    const std::string_view module = nextWord(line);
    if (const size_t colon = module.rfind(':'); colon != std::string_view::npos) {
      op.hasModule = true;
      op.module = unword(module.substr(0, colon));
      op.moduleClass = unword(module.substr(colon + 1));
    }
    op.name = unword(nextWord(line));
    const auto schema = schemas_.find(op.name);
    if (schema == schemas_.end()) fail("there is no schema of " + op.name);
    op.raw.schema = schema->second.second;
    while (!line.empty()) {
      const std::string_view each = nextWord(line);
      if (each.empty()) continue;
      if (each[0] == '$') scalar(*schema->second.first, each.substr(1), op);
      else if (each[0] == '#') attribute(each.substr(1), op);
      else operand(each, op);
    }
    op.raw.operandCount = uint16_t(op.operands.size());
    op.raw.scalarBytes = uint32_t(op.scalars.bytes().size());
  }

  void scalar(const Schema& schema, std::string_view text, OpLine& op) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) fail("'$" + std::string(text) + "' is no scalar");
    const std::string name = unword(text.substr(0, equals));
    int16_t arg = -1;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      if (schema.arguments[i] == name) arg = int16_t(i);
    }
    if (arg < 0) {
      std::string_view digits = text.substr(0, equals);
      arg = number<int16_t>(digits);
    }
    op.scalars.text(arg, unword(text.substr(equals + 1)));
  }

  void attribute(std::string_view text, OpLine& op) {
    if (text == "kernel") op.raw.kind = OpKind::kernel;
    else if (text == "compiled") op.raw.kind = OpKind::compiled;
    else if (text == "wrapper") op.raw.kind = OpKind::wrapper;
    else if (text == "collective") op.raw.kind = OpKind::collective;
    else if (text == "raised") op.raw.raised = true;
    else if (text.starts_with("in")) text.remove_prefix(2), op.parentBack = number<int64_t>(text);
    else if (text.starts_with("of")) op.sources = text.substr(2);
    else if (text.starts_with("t")) text.remove_prefix(1), op.raw.thread = number<uint32_t>(text);
    else if (text.starts_with("f")) text.remove_prefix(1), op.raw.forwardThread = number<uint32_t>(text);
    else if (text.starts_with("s")) {
      text.remove_prefix(1);
      op.hasSequence = true;
      op.sequenceStep = number<int64_t>(text);
    } else {
      fail("'#" + std::string(text) + "' is unknown");
    }
  }

  /// "i0.2:n1:f32[2,3]@64!3?7^"
  void operand(std::string_view text, OpLine& op) {
    OpLine::OperandWord& operand = op.operands.emplace_back();
    RawOperand& raw = operand.raw;
    const char role = text[0];
    raw.role = role == 'i' ? Role::input : role == 'o' ? Role::output : role == 'b' ? Role::before : Role::after;
    if (role != 'i' && role != 'o' && role != 'b' && role != 'a') {
      fail("'" + std::string(text.substr(0, 20)) + "' is no operand");
    }
    text.remove_prefix(1);
    raw.arg = number<int16_t>(text);
    if (text.starts_with('.')) text.remove_prefix(1), raw.item = number<int16_t>(text);
    if (!text.starts_with(':') || text.size() < 3) fail("an operand without a storage");
    operand.storageKind = text[1];
    text.remove_prefix(2);
    if (operand.storageKind == 'n' || operand.storageKind == 'p') operand.storageNumber = number<int64_t>(text);
    if (!text.starts_with(':')) fail("an operand without a type");
    text.remove_prefix(1);
    const size_t bracket = text.find(']');
    const size_t end = std::min(text.find_first_of("@!?^", bracket), text.size());
    const std::string typeText = unword(text.substr(0, end));
    if (!parseType(typeText, operand.type)) fail("'" + typeText.substr(0, 40) + "' is no type");
    operand.typeNumber = types_.try_emplace(typeText, uint32_t(types_.size())).first->second;
    text.remove_prefix(end);
    while (!text.empty()) {
      const char what = text[0];
      text.remove_prefix(1);
      if (what == '@') raw.offset = number<int64_t>(text);
      else if (what == '!') raw.flags = number<uint8_t>(text);
      else if (what == '?') raw.skip = SkipReason(number<uint8_t>(text));
      else if (what == '^') raw.closure = Closure::broken;
      else fail("an operand ends with '" + std::string(1, what) + "'");
    }
    raw.dtype = operand.type.dtype;
    raw.layout = operand.type.layout;
    device(operand.type.device, raw);
    raw.dim = int32_t(operand.type.sizes.size());
    raw.hasStrides = operand.type.layout == Layout::strided;
  }

  /// The devices that a recording on this kind of machine can meet; another is kept as a number.
  static void device(const std::string& text, RawOperand& raw) {
    const size_t colon = text.find(':');
    const std::string_view kind = std::string_view(text).substr(0, colon);
    raw.deviceType = kind == "cuda" ? 1 : kind == "xpu" ? 12 : kind == "mps" ? 13 : kind == "meta" ? 14 : 0;
    raw.deviceIndex = colon == std::string::npos ? -1 : int8_t(std::atoi(text.c_str() + colon + 1));
  }

  StorageId storage(const OpLine::OperandWord& word) {
    switch (word.storageKind) {
      case '-': return {};
      case '+':
        localStorages_.push_back({++lastStorage_});
        return localStorages_.back();
      case 'n':
        if (word.storageNumber < 1 || size_t(word.storageNumber) > localStorages_.size()) {
          fail("there is no storage n" + std::to_string(word.storageNumber));
        }
        return localStorages_[localStorages_.size() - size_t(word.storageNumber)];
      case 'p': {
        StorageId& id = persistent_[word.storageNumber];
        if (!id) id = {++lastStorage_};
        return id;
      }
      default: fail("a storage is -, +, n or p");
    }
  }

  RegionId region(const OpLine& line, const RawOp& op) {
    if (!line.hasModule) return {};
    RegionId& id = regions_[line.module + '\0' + line.moduleClass];
    if (id) return id;
    RawRegion raw;
    raw.id = id = RegionId{++lastRegion_};
    raw.kind = RegionKind::module;
    raw.thread = op.thread;
    raw.step = op.step;
    raw.begin = op.id;
    raw.name = writer_.string(line.module);
    raw.detail = writer_.string(line.moduleClass);
    events_.addRegion(raw);
    return id;
  }

  ProvenanceId provenance(const OpLine& line) {
    if (line.sources.empty()) return {};
    ProvenanceId& id = provenances_[line.name + " " + line.sources];
    if (id) return id;
    Provenance from;
    const size_t colons = line.name.find("::");
    from.kernel = colons == std::string::npos ? line.name : line.name.substr(colons + 2);
    std::string_view rest = line.sources;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      SourceOp source;
      source.op = unword(rest.substr(0, comma));
      source.order = int32_t(from.sources.size());
      from.sources.push_back(std::move(source));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return id = writer_.provenance(from);
  }

  void op(const OpLine& line, std::string_view values, int32_t step) {
    RawOp raw = line.raw;
    const size_t index = done_.size();
    raw.id = index < ids_.size() ? ids_[index] : OpId{int64_t(index) + 1};
    done_.push_back(raw.id);
    if (line.parentBack > 0 && size_t(line.parentBack) <= index) raw.parent = done_[index - size_t(line.parentBack)];
    raw.step = step;
    if (line.hasSequence) raw.sequence = sequence_ += line.sequenceStep;
    raw.region = region(line, raw);
    raw.provenance = provenance(line);
    events_.addOp(raw, line.scalars.bytes());

    nextWord(values);  // the op's name, for readers
    fingerprints_.clear();
    const Fingerprint* firstRead = nullptr;
    storages_.clear();
    for (const OpLine::OperandWord& word : line.operands) storages_.push_back(storage(word));
    fingerprints_.resize(line.operands.size());
    for (size_t i = 0; i < line.operands.size(); ++i) {
      const OpLine::OperandWord& word = line.operands[i];
      RawOperand operand = word.raw;
      operand.storage = storages_[i];
      const auto writer = writers_.find(operand.storage.value);
      if (writer != writers_.end()) operand.writer = writer->second;
      const View view{operand.storage.value, operand.offset, word.typeNumber};
      const bool read = operand.role == Role::input || operand.role == Role::before;
      Fingerprint& fingerprint = fingerprints_[i];
      if (operand.skip == SkipReason::none) {
        operand.hasFingerprint = read ? readValue(values, i, view, word, fingerprint)
                                      : writtenValue(values, firstRead, word, fingerprint);
        if (operand.hasFingerprint && !read) seen_.insert_or_assign(view, fingerprint);
      }
      if (read && operand.hasFingerprint && firstRead == nullptr) firstRead = &fingerprint;
      events_.addOperand(operand, word.type.sizes.data(), word.type.strides.data(),
                         operand.hasFingerprint ? &fingerprint : nullptr);
    }
    if (!values.empty()) fail("values are left over: '" + std::string(values.substr(0, 20)) + "'");
    wrote(line, raw.id);
    if (events_.size() > (size_t(1) << 20)) writer_.submit(events_);
  }

  bool readValue(std::string_view& values, size_t index, const View& view,
                 const OpLine::OperandWord& word, Fingerprint& fingerprint) {
    const std::string own = std::to_string(index) + ":";
    if (!values.starts_with(own)) {
      const auto found = seen_.find(view);
      if (found == seen_.end()) return false;  // recorded without a fingerprint
      fingerprint = found->second;
      return true;
    }
    const std::string_view text = nextWord(values).substr(own.size());
    if (!parseValue(text, components(word.type), fingerprint)) {
      fail("'" + std::string(text.substr(0, 20)) + "' is no value");
    }
    seen_.insert_or_assign(view, fingerprint);
    return true;
  }

  bool writtenValue(std::string_view& values, const Fingerprint* firstRead,
                    const OpLine::OperandWord& word, Fingerprint& fingerprint) {
    if (values.empty()) return false;
    const std::string_view text = nextWord(values);
    if (text == "=") {
      if (firstRead == nullptr) fail("'=' stands where the op reads nothing");
      fingerprint = *firstRead;
      return true;
    }
    if (!parseValue(text, components(word.type), fingerprint)) {
      fail("'" + std::string(text.substr(0, 20)) + "' is no value");
    }
    return true;
  }

  /// An output in a storage that the op reads is a view of it and writes nothing.
  void wrote(const OpLine& line, OpId id) {
    for (size_t i = 0; i < line.operands.size(); ++i) {
      const Role role = line.operands[i].raw.role;
      if (role != Role::output && role != Role::after) continue;
      bool view = false;
      for (size_t k = 0; role == Role::output && k < line.operands.size(); ++k) {
        view |= storages_[k] == storages_[i] && line.operands[k].raw.role == Role::input;
      }
      if (!view && storages_[i]) writers_[storages_[i].value] = id;
    }
  }

  const Baseline& baseline_;
  const std::string& name_;
  const std::span<const OpId> ids_;
  Writer writer_;
  EventBuffer events_;
  std::unordered_map<std::string, OpLine> lines_;
  std::map<std::string, std::pair<const Schema*, SchemaId>> schemas_;
  std::unordered_map<std::string, uint32_t> types_;
  std::unordered_map<std::string, RegionId> regions_;
  std::unordered_map<std::string, ProvenanceId> provenances_;
  std::vector<StorageId> localStorages_;
  std::unordered_map<int64_t, StorageId> persistent_;
  std::unordered_map<int64_t, OpId> writers_;
  std::unordered_map<View, Fingerprint, ViewHash> seen_;
  std::vector<Fingerprint> fingerprints_;  ///< of the op at hand, by operand
  std::vector<StorageId> storages_;            ///< likewise its storages
  std::vector<OpId> done_;
  int64_t lastStorage_ = 0, lastRegion_ = 0, sequence_ = 0;
  size_t section_ = 0, at_ = 0;
};

}  // namespace

void replay(const Baseline& baseline, const std::string& name, const std::string& path,
            std::span<const OpId> ids) {
  Replay(baseline, name, path, ids).run();
}

}  // namespace ulpscope::gate
