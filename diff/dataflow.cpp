#include "diff/dataflow.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

#include "diff/extent.h"

namespace ulpscope {
namespace {

/// A write or a view of a storage.
struct Access {
  int64_t offset = 0;
  TypeId type;
  int32_t op = -1;
  bool write = false;
};

/// The latest accesses of one storage, oldest first. What is pushed out was written by `before`.
struct AccessList {
  std::array<Access, 8> entries;
  uint8_t count = 0;
};

/// What is known of one storage at a point of the run. Most storages are written once, as a whole.
struct StorageState {
  int32_t whole = -1;  ///< the op that wrote all of it, as far as is known
  int32_t list = -1;   ///< index of its AccessList
};

class StorageTable {
 public:
  explicit StorageTable(std::span<const Operand> operands) {
    int64_t most = 0;
    for (const Operand& operand : operands) most = std::max(most, operand.storage.value);
    // Storage numbers are handed out in order, so a flat table fits unless the file is odd.
    if (most <= int64_t(operands.size()) * 4 + 1024) flat_.resize(size_t(most) + 1);
  }
  StorageState& at(StorageId id) {
    if (id.value >= 0 && size_t(id.value) < flat_.size()) return flat_[size_t(id.value)];
    return sparse_[id.value];
  }
  const AccessList* list(const StorageState& state) const {
    return state.list < 0 ? nullptr : &lists_[size_t(state.list)];
  }

  /// All of it is written: what was known of parts is void.
  void writeWhole(StorageState& state, int32_t op) {
    state.whole = op;
    if (state.list >= 0) lists_[size_t(state.list)].count = 0;
  }

  void add(StorageState& state, const Access& access) {
    if (state.list < 0) {
      state.list = int32_t(lists_.size());
      lists_.emplace_back();
    }
    AccessList& list = lists_[size_t(state.list)];
    // The same part again: the older entry has no meaning any more.
    for (uint8_t k = 0; k < list.count; ++k) {
      Access& entry = list.entries[k];
      const bool same = entry.offset == access.offset && entry.type == access.type &&
                        (access.write || !entry.write);
      if (!same) continue;
      std::move(&list.entries[k] + 1, list.entries.data() + list.count, &list.entries[k]);
      --list.count;
      break;
    }
    if (list.count == list.entries.size()) {
      if (list.entries[0].write) state.whole = std::max(state.whole, list.entries[0].op);
      std::move(list.entries.begin() + 1, list.entries.end(), list.entries.begin());
      --list.count;
    }
    list.entries[list.count++] = access;
  }

  int32_t lastWriter(const StorageState& state) const {
    int32_t last = state.whole;
    if (state.list >= 0) {
      const AccessList& list = lists_[size_t(state.list)];
      for (uint8_t k = 0; k < list.count; ++k) {
        if (list.entries[k].write) last = std::max(last, list.entries[k].op);
      }
    }
    return last;
  }

 private:
  std::vector<StorageState> flat_;
  std::unordered_map<int64_t, StorageState> sparse_;
  std::vector<AccessList> lists_;
};

class ProducerFinder {
 public:
  explicit ProducerFinder(const SideIndex& side)
      : side_(side), storages_(side.operands()), result_(side.operands().size()) {}

  Producers run() {
    for (size_t i = 0; i < side_.size(); ++i) {
      const Op& op = side_.ops()[i];
      if (open_ >= 0 && op.parent != side_.ops()[size_t(open_)].id) {
        close(open_);
        open_ = -1;
      }
      const std::span<const Operand> own = side_.operandsOf(op);
      for (size_t k = 0; k < own.size(); ++k) {
        if (isRead(own[k].role) && own[k].storage) read(own[k], op.firstOperand + uint32_t(k), i);
      }
      if (op.kind == OpKind::compiled) {
        open_ = int32_t(i);
        continue;
      }
      // A wrapper's results are made by the ops inside it, which have their own entries.
      if (op.kind == OpKind::wrapper) continue;
      for (const Operand& operand : own) {
        if (isWritten(operand.role) && operand.storage) write(operand, own, int32_t(i));
      }
    }
    return std::move(result_);
  }

 private:
  const TensorType& type(TypeId id) const { return side_.reader().type(id); }

  void read(const Operand& operand, uint32_t index, size_t reader) {
    const StorageState& state = storages_.at(operand.storage);
    int32_t newest = -1;
    bool complete = false;  // every element's writer is known
    if (const AccessList* list = storages_.list(state)) {
      for (uint8_t k = list->count; k-- > 0 && !complete;) {
        const Access& access = list->entries[k];
        const bool exact = access.offset == operand.offset && access.type == operand.type;
        if (!exact && (!access.write || !mayOverlap(type(access.type), access.offset,
                                                    type(operand.type), operand.offset))) {
          continue;
        }
        if (access.op >= int32_t(reader)) continue;
        if (newest < 0) newest = access.op;
        else result_.addOther(index, access.op);
        complete = exact || covers(type(access.type), access.offset, type(operand.type),
                                   operand.offset);
      }
    }
    if (!complete && state.whole >= 0 && state.whole < int32_t(reader)) {
      if (newest < 0) newest = state.whole;
      else result_.addOther(index, state.whole);
    }
    if (newest < 0 && operand.writer) newest = side_.indexOf(operand.writer);
    result_.set(index, newest >= int32_t(reader) ? -1 : newest);
  }

  void write(const Operand& operand, std::span<const Operand> own, int32_t op) {
    StorageState& state = storages_.at(operand.storage);
    const bool reads = std::any_of(own.begin(), own.end(), [&](const Operand& other) {
      return isRead(other.role) && other.storage == operand.storage;
    });
    if (operand.role == Role::after) {
      storages_.add(state, {operand.offset, operand.type, op, true});
    } else if (reads) {  // an output that shares its storage with an input: a view
      storages_.add(state, {operand.offset, operand.type, op, false});
    } else {
      storages_.writeWhole(state, op);
    }
  }

  /// Results of a compiled region exist after the kernels inside it have run, though the region
  /// started before them; what those kernels wrote is theirs.
  void close(int32_t region) {
    const std::span<const Operand> own = side_.operandsOf(side_.ops()[size_t(region)]);
    for (const Operand& operand : own) {
      if (!isWritten(operand.role) || !operand.storage) continue;
      // An input that the region hands on (saved for the backward, say) was not written by it.
      const bool passed = operand.role == Role::output &&
                          std::any_of(own.begin(), own.end(), [&](const Operand& other) {
                            return isRead(other.role) && other.storage == operand.storage;
                          });
      if (passed) continue;
      StorageState& state = storages_.at(operand.storage);
      if (storages_.lastWriter(state) < region) storages_.writeWhole(state, region);
    }
  }

  const SideIndex& side_;
  StorageTable storages_;
  Producers result_;
  int32_t open_ = -1;
};

}  // namespace

std::span<const Producers::Part> Producers::others(uint32_t operand) const {
  const auto [first, last] = std::equal_range(
      parts_.begin(), parts_.end(), Part{operand, 0},
      [](const Part& x, const Part& y) { return x.operand < y.operand; });
  return {parts_.data() + (first - parts_.begin()), size_t(last - first)};
}

Producers producers(const SideIndex& side) { return ProducerFinder(side).run(); }

}  // namespace ulpscope
