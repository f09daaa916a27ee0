#include "diff/dataflow.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace ulpscope {
namespace {

/// What is known of one storage at a point of the run: its last writer, and the views that were
/// made of it since.
struct StorageState {
  struct View {
    int64_t offset = 0;
    uint32_t type = 0;
    int32_t op = -1;
  };
  int32_t writer = -1;
  uint8_t next = 0;
  std::array<View, 4> views;  // the most recent ones; older views fall back to the writer
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

 private:
  std::vector<StorageState> flat_;
  std::unordered_map<int64_t, StorageState> sparse_;
};

}  // namespace

std::vector<int32_t> producers(const SideIndex& side) {
  const std::span<const Operand> operands = side.operands();
  std::vector<int32_t> result(operands.size(), -1);
  StorageTable storages(operands);

  // Results of a compiled region exist after the kernels inside it have run, though the region
  // started before them; what those kernels wrote is theirs.
  int32_t open = -1;
  const auto close = [&](int32_t region) {
    const std::span<const Operand> own = side.operandsOf(side.ops()[size_t(region)]);
    for (const Operand& operand : own) {
      if (!isWritten(operand.role) || !operand.storage) continue;
      // An input that the region hands on (saved for the backward, say) was not written by it.
      const bool passed = operand.role == Role::output &&
                          std::any_of(own.begin(), own.end(), [&](const Operand& other) {
                            return isRead(other.role) && other.storage == operand.storage;
                          });
      if (passed) continue;
      StorageState& state = storages.at(operand.storage);
      if (state.writer < region) {
        state = {};
        state.writer = region;
      }
    }
  };

  for (size_t i = 0; i < side.size(); ++i) {
    const Op& op = side.ops()[i];
    if (open >= 0 && op.parent != side.ops()[size_t(open)].id) {
      close(open);
      open = -1;
    }
    const std::span<const Operand> own = side.operandsOf(op);
    for (size_t k = 0; k < own.size(); ++k) {
      const Operand& operand = own[k];
      if (!isRead(operand.role) || !operand.storage) continue;
      const StorageState& state = storages.at(operand.storage);
      int32_t producer = state.writer;
      for (const StorageState::View& view : state.views) {
        if (view.op > producer && view.offset == operand.offset &&
            view.type == operand.type.value) {
          producer = view.op;
        }
      }
      if (producer < 0 && operand.writer) producer = side.indexOf(operand.writer);
      if (producer >= int32_t(i)) producer = -1;
      result[op.firstOperand + k] = producer;
    }
    if (op.kind == OpKind::compiled) {
      open = int32_t(i);
      continue;
    }
    // A wrapper's results are made by the ops inside it, which have their own entries.
    if (op.kind == OpKind::wrapper) continue;
    for (const Operand& operand : own) {
      if (!isWritten(operand.role) || !operand.storage) continue;
      StorageState& state = storages.at(operand.storage);
      const bool reads = std::any_of(own.begin(), own.end(), [&](const Operand& other) {
        return isRead(other.role) && other.storage == operand.storage;
      });
      if (operand.role == Role::after || !reads) {
        state = {};
        state.writer = int32_t(i);
      } else {  // an output that shares its storage with an input: a view
        state.views[state.next] = {operand.offset, operand.type.value, int32_t(i)};
        state.next = uint8_t((state.next + 1) % state.views.size());
      }
    }
  }
  return result;
}

}  // namespace ulpscope
