#include "gate/encode.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "gate/operand_line.h"

namespace ulpscope::gate {
namespace {

/// One view of a storage, to know a value again that was seen there before.
struct View {
  int64_t storage;
  int64_t offset;
  uint32_t type;
  friend bool operator==(const View&, const View&) = default;
};
struct ViewHash {
  size_t operator()(const View& view) const {
    return size_t(view.storage) * 0x9e3779b97f4a7c15 ^ size_t(view.offset) * 0xc2b2ae3d27d4eb4f ^ view.type;
  }
};

char letter(Role role) {
  switch (role) {
    case Role::input: return 'i';
    case Role::output: return 'o';
    case Role::before: return 'b';
    case Role::after: return 'a';
  }
  return 'o';
}

char letter(Phase phase) {
  switch (phase) {
    case Phase::forward: return 'F';
    case Phase::backward: return 'B';
    case Phase::optimizer: return 'O';
    case Phase::other: return '-';
  }
  return '-';
}

std::string_view kindWord(OpKind kind) {
  switch (kind) {
    case OpKind::op: return "";
    case OpKind::kernel: return "kernel";
    case OpKind::compiled: return "compiled";
    case OpKind::wrapper: return "wrapper";
    case OpKind::collective: return "collective";
  }
  return "";
}

class Encoder {
 public:
  Encoder(const Reader& trace, const OpTable& table) : trace_(trace), table_(table) {}

  Baseline run() {
    facts();
    findPersistent();
    Section* section = nullptr;
    for (size_t i = 0; i < table_.ops.size(); ++i) {
      const Op& op = table_.ops[i];
      if (section == nullptr || section->step != op.step) {
        section = &result_.sections.emplace_back();
        section->step = op.step;
        beginSection();
      }
      const size_t at = section->structure.size();
      describe(op, i);
      if (at < before_.size() && before_[at] == shape_) {  // as in the section before: one text for both
        section->structure.push_back((section - 1)->structure[at]);
      } else {
        section->structure.push_back(structureLine(op));
      }
      now_.push_back(shape_);
      section->values.push_back(valuesLine(op));
    }
    for (auto& [name, schema] : schemas_) result_.schemas.push_back(std::move(schema));
    return std::move(result_);
  }

 private:
  void facts() {
    const auto stored = nlohmann::json::parse(trace_.meta("command"), nullptr, false);
    if (stored.is_array()) {
      for (const auto& argument : stored) {
        if (argument.is_string()) result_.command.push_back(argument.get<std::string>());
      }
    }
    result_.environment = trace_.environment();
    std::sort(result_.environment.begin(), result_.environment.end(),
              [](const KeyValue& x, const KeyValue& y) { return x.key < y.key; });
    result_.complete = trace_.complete();
  }

  /// Storages that live on into another section (parameters, data) have a number of their own; what
  /// lives within one is named by how long ago it appeared, so that equal steps have equal lines.
  void findPersistent() {
    std::unordered_map<int64_t, int32_t> sectionOf;
    int32_t section = 0, step = table_.ops.empty() ? 0 : table_.ops[0].step;
    for (const Op& op : table_.ops) {
      if (op.step != step) ++section, step = op.step;
      for (const Operand& operand : table_.of(op)) {
        if (!operand.storage) continue;
        const auto [at, added] = sectionOf.try_emplace(operand.storage.value, section);
        if (!added && at->second != section && at->second >= 0) {
          at->second = -1;
          persistent_.emplace(operand.storage.value, 0);
        }
      }
    }
  }

  void beginSection() {
    local_.clear();
    lastSequence_ = -1;
    before_ = std::move(now_);
    now_.clear();
  }

  /// A storage as the lines name it: 0 none, above 0 the number of a persistent one, below 0 how many
  /// have appeared since this one did (-1: it appears here).
  int64_t storageNumber(StorageId storage) {
    if (!storage) return 0;
    if (const auto found = persistent_.find(storage.value); found != persistent_.end()) {
      if (found->second == 0) found->second = ++persistentCount_;
      return found->second;
    }
    const auto [at, added] = local_.try_emplace(storage.value, int64_t(local_.size()));
    return added ? -1 : -1 - (int64_t(local_.size()) - at->second);
  }

  static std::string storageWord(int64_t number) {
    if (number == 0) return "-";
    if (number > 0) return "p" + std::to_string(number);
    return number == -1 ? "+" : "n" + std::to_string(-1 - number);
  }

  /// Everything that the structure line of an op says, in numbers; into shape_.
  void describe(const Op& op, size_t index) {
    shape_.clear();
    std::tie(module_, moduleClass_) = trace_.module(op);
    int64_t parent = 0;
    if (op.parent) {
      const auto at = std::lower_bound(table_.ops.begin(), table_.ops.end(), op.parent,
                                       [](const Op& each, OpId id) { return each.id < id; });
      parent = int64_t(index) - (at - table_.ops.begin());
    }
    int64_t sequence = std::numeric_limits<int64_t>::min();
    if (op.sequence >= 0) {  // by how much it goes on from the op before, so that steps look alike
      sequence = lastSequence_ < 0 ? 0 : op.sequence - lastSequence_;
      lastSequence_ = op.sequence;
    }
    const std::hash<std::string> hash;
    shape_.insert(shape_.end(), {int64_t(op.kind), int64_t(op.phase), int64_t(op.raised), op.thread,
                                 op.forwardThread, op.schema.value, op.scalars.value,
                                 op.provenance.value, parent, sequence, int64_t(hash(module_)),
                                 int64_t(hash(moduleClass_))});
    for (const Operand& operand : table_.of(op)) {
      const int64_t form = int64_t(operand.role) | int64_t(operand.skip) << 8 |
                           int64_t(operand.closure == Closure::broken) << 16 |
                           int64_t(operand.flags) << 24 | int64_t(uint16_t(operand.arg)) << 32 |
                           int64_t(uint16_t(operand.item)) << 48;
      shape_.insert(shape_.end(), {form, operand.type.value, operand.offset, storageNumber(operand.storage)});
    }
  }

  const std::string& type(TypeId id) {
    std::string& text = types_[id.value];
    if (text.empty()) text = word(typeWord(trace_.type(id)));
    return text;
  }

  const std::string& schema(SchemaId id) {
    std::string& text = names_[id.value];
    if (text.empty()) {
      const Schema& schema = trace_.schema(id);
      text = word(schema.qualified());
      schemas_.try_emplace(schema.qualified(), schema);
    }
    return text;
  }

  /// The text of what describe() put down.
  std::string structureLine(const Op& op) {
    std::string line(1, letter(op.phase));
    line += module_.empty() && moduleClass_.empty() ? " -" : " " + word(module_) + ":" + word(moduleClass_);
    line += " " + schema(op.schema);
    const int64_t* number = shape_.data() + kOperandsAt + 3;
    for (const Operand& operand : table_.of(op)) {
      line += fmt::format(" {}{}", letter(operand.role), operand.arg);
      if (operand.item >= 0) line += fmt::format(".{}", operand.item);
      line += ":" + storageWord(*number) + ":" + type(operand.type);
      number += 4;
      if (operand.offset != 0) line += fmt::format("@{}", operand.offset);
      if (operand.flags != 0) line += fmt::format("!{}", operand.flags);
      if (operand.skip != SkipReason::none && operand.skip != SkipReason::trusted) {
        line += fmt::format("?{}", int(operand.skip));
      }
      if (operand.closure == Closure::broken) line += "^";
    }
    const Schema& schema = trace_.schema(op.schema);
    for (const Scalar& scalar : trace_.scalars(op.scalars)) {
      const bool named = scalar.arg >= 0 && size_t(scalar.arg) < schema.arguments.size();
      line += " $" + (named ? word(schema.arguments[size_t(scalar.arg)]) : std::to_string(scalar.arg)) +
              "=" + word(scalar.text);
    }
    if (op.kind != OpKind::op) line += fmt::format(" #{}", kindWord(op.kind));
    if (op.parent) line += fmt::format(" #in{}", shape_[kParentAt]);
    if (op.thread != 0) line += fmt::format(" #t{}", op.thread);
    if (op.forwardThread != 0) line += fmt::format(" #f{}", op.forwardThread);
    if (op.raised) line += " #raised";
    if (op.sequence >= 0) line += fmt::format(" #s{}", shape_[kSequenceAt]);
    if (op.kind == OpKind::kernel && op.provenance) {
      const Provenance& from = trace_.provenance(op.provenance);
      std::string sources;
      for (const SourceOp& source : from.sources) sources += (sources.empty() ? "" : ",") + word(source.op);
      if (!sources.empty()) line += " #of" + sources;
    }
    return line;
  }

  /// A word for each value that can't be known from what the gate holds already: of what an op writes
  /// always, of what it reads where it is not what was last seen there ("INDEX:" before it).
  std::string valuesLine(const Op& op) {
    const std::string& name = trace_.schema(op.schema).name;
    const size_t colons = name.rfind(':');
    std::string line = word(colons == std::string::npos ? name : name.substr(colons + 1));
    const std::span<const Operand> operands = table_.of(op);
    const Digest* first = nullptr;
    Digest firstRead;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      if (!operand.fingerprint) continue;
      const Digest digest = trace_.digest(operand.fingerprint);
      const View view{operand.storage.value, operand.offset, operand.type.value};
      if (operand.role == Role::input || operand.role == Role::before) {
        const auto [at, added] = seen_.try_emplace(view, digest);
        if (added || at->second != digest) {
          at->second = digest;
          line += fmt::format(" {}:{}", i, valueWord(trace_.fingerprint(operand.fingerprint)));
        }
        if (first == nullptr) {
          firstRead = digest;
          first = &firstRead;
        }
      } else {
        seen_.insert_or_assign(view, digest);
        line += first != nullptr && *first == digest ? " ="
                                                     : " " + valueWord(trace_.fingerprint(operand.fingerprint));
      }
    }
    return line;
  }

  static constexpr size_t kParentAt = 8, kSequenceAt = 9, kOperandsAt = 12;  // in shape_

  const Reader& trace_;
  const OpTable& table_;
  std::vector<int64_t> shape_;
  std::vector<std::vector<int64_t>> before_, now_;  ///< shapes of the sections' ops
  std::string module_, moduleClass_;
  Baseline result_;
  std::map<std::string, Schema> schemas_;
  std::unordered_map<uint32_t, std::string> names_, types_;
  std::unordered_map<int64_t, int64_t> persistent_;  ///< storage: number, 0 before its first use
  int64_t persistentCount_ = 0;
  std::unordered_map<int64_t, int64_t> local_;
  int64_t lastSequence_ = -1;
  std::unordered_map<View, Digest, ViewHash> seen_;
};

}  // namespace

Baseline encode(const Reader& trace, const OpTable& ops) { return Encoder(trace, ops).run(); }

}  // namespace ulpscope::gate
