#include "diff/keys.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "diff/dataflow.h"

namespace ulpscope {
namespace {

uint32_t fold(uint64_t hash) { return hash == 0 ? 0 : uint32_t(hash ^ (hash >> 32)) | 1u; }

/// Which ops' results have a shape that values decided (how many rows an expert gets), and what is
/// computed from them: between two runs such a shape tells nothing.
class DecidedShapes {
 public:
  DecidedShapes(const SideIndex& side, const Producers& producers)
      : side_(side), producers_(producers) {
    if (!hasDecidingOp()) return;
    decided_.assign(side.size(), false);
    for (size_t i = 0; i < side.size(); ++i) decided_[i] = decides(i);
  }

  /// Of an operand of op i.
  bool has(size_t i, uint32_t operand) const {
    if (decided_.empty()) return false;
    if (isWritten(side_.operands()[operand].role)) return decided_[i];
    const int32_t producer = producers_[operand];
    return producer >= 0 && decided_[size_t(producer)];
  }

 private:
  bool hasDecidingOp() const {
    return std::any_of(side_.ops().begin(), side_.ops().end(),
                       [&](const Op& op) { return side_.facts(op).sync || isMask(op); });
  }

  /// x[mask]: calls nonzero inside.
  bool isMask(const Op& op) const {
    if (!side_.facts(op).takesMask) return false;
    const std::span<const Operand> own = side_.operandsOf(op);
    return std::any_of(own.begin(), own.end(), [&](const Operand& operand) {
      return isRead(operand.role) && operand.item >= 0 &&
             side_.reader().type(operand.type).dtype == DType::Bool;
    });
  }

  bool decides(size_t i) const {
    const Op& op = side_.ops()[i];
    if (side_.facts(op).sync || isMask(op)) return true;
    bool reads = false;
    for (uint32_t k = op.firstOperand; k < op.firstOperand + op.operandCount; ++k) {
      reads |= isRead(side_.operands()[k].role) && has(i, k);
    }
    if (!reads) return false;
    // A result of the shape of an input whose shape is the program's own (x.index_add(...)).
    for (const Operand& result : side_.operandsOf(op)) {
      if (!isWritten(result.role)) continue;
      for (uint32_t k = op.firstOperand; k < op.firstOperand + op.operandCount; ++k) {
        const Operand& input = side_.operands()[k];
        if (isRead(input.role) && !has(i, k) && side_.type(input.type) == side_.type(result.type)) {
          return false;
        }
      }
    }
    return true;
  }

  const SideIndex& side_;
  const Producers& producers_;
  std::vector<bool> decided_;  // by op; empty: none
};

Unit unitOf(const SideIndex& side, size_t i, const DecidedShapes& shapes) {
  const Op& op = side.ops()[i];
  Unit unit;
  unit.op = uint32_t(i);
  uint64_t types = 0;
  for (uint32_t k = op.firstOperand; k < op.firstOperand + op.operandCount; ++k) {
    // What an op writes follows from what it reads; for the strict keys both count.
    const Operand& operand = side.operands()[k];
    const uint64_t type = shapes.has(i, k) ? side.rank(operand.type) : side.type(operand.type);
    types = mix(types, mix(uint64_t(isWritten(operand.role)), type));
  }
  const Place place = side.place(i);
  const uint64_t line = side.line(i);
  unit.name = fold(side.name(op));
  unit.variant = fold(side.variant(op));
  unit.types = fold(types) | 1u;
  unit.scalars = fold(side.scalars(op)) | 1u;
  unit.path = fold(place.path);
  unit.leaf = fold(place.leaf);
  unit.line = fold(line);
  unit.phase = op.phase;
  unit.movesData = side.facts(op).movesData;
  return unit;
}

Unit unitOf(const SideIndex& side, size_t kernel, int32_t source, const SourceOp& from) {
  Unit unit;
  unit.op = uint32_t(kernel);
  unit.source = source;
  const Place place = side.place(from);
  const uint64_t line = lineOf(from.stack);
  unit.name = fold(side.name(from));
  unit.path = fold(place.path);
  unit.leaf = fold(place.leaf);
  unit.line = fold(line);
  // A forward op in a backward kernel is computed again there; it stays an op of the forward.
  unit.phase = side.ops()[kernel].phase;
  if (from.backward) unit.phase = Phase::backward;
  else if (unit.phase == Phase::backward) unit.phase = Phase::forward;
  unit.movesData = side.facts(from).movesData;
  unit.mixed = true;
  return unit;
}

/// Adds to a unit what made its inputs, or which parameters they are. Other tensors have no lasting
/// name, and counting them would shift with the first op that is missing.
class InputIdentity {
 public:
  InputIdentity(const SideIndex& side, const Producers& producers,
                const std::unordered_map<int64_t, uint64_t>& parameters)
      : side_(side), producers_(producers), parameters_(parameters) {}

  void extend(Unit& unit) const {
    const Op& op = side_.ops()[unit.op];
    const std::span<const Operand> own = side_.operandsOf(op);
    uint64_t makers = 0, placed = 0;
    for (size_t k = 0; k < own.size(); ++k) {
      if (!isRead(own[k].role)) continue;
      if (own[k].flags & kParameter) {
        const auto found = parameters_.find(own[k].storage.value);
        if (found == parameters_.end()) continue;
        const uint64_t which = mix(found->second, uint64_t(own[k].offset));
        makers = mix(makers, which);
        placed = mix(placed, which);
        continue;
      }
      const int32_t producer = producers_[op.firstOperand + k];
      if (producer < 0) continue;
      const Op& made = side_.ops()[size_t(producer)];
      makers = mix(makers, side_.variant(made));
      placed = mix(placed, mix(side_.variant(made), mix(side_.place(size_t(producer)).path,
                                                        side_.line(size_t(producer)))));
    }
    unit.makers = fold(makers);
    unit.makersPlaced = fold(placed);
  }

 private:
  const SideIndex& side_;
  const Producers& producers_;
  const std::unordered_map<int64_t, uint64_t>& parameters_;
};

/// The units of one compiled region in the original program's order.
class RegionUnits {
 public:
  RegionUnits(const SideIndex& side, const DecidedShapes& shapes) : side_(side), shapes_(shapes) {}

  void add(size_t i) {
    const Op& op = side_.ops()[i];
    const Provenance& from = side_.reader().provenance(op.provenance);
    if (op.kind != OpKind::kernel) {
      // An extern kernel stands for one original op (and views around it): place it where the
      // program had it, under that op's module and line, which the op itself does not carry.
      Entry entry{unitOf(side_, i, shapes_), last_, sequence_++};
      for (size_t s = 0; s < from.sources.size(); ++s) {
        const Unit named = unitOf(side_, i, int32_t(s), from.sources[s]);
        if (named.name != entry.unit.name) continue;
        entry.order = from.sources[s].order;
        entry.unit.path = named.path;
        entry.unit.leaf = named.leaf;
        entry.unit.line = named.line;
        entry.unit.phase = named.phase;
        last_ = entry.order;
      }
      entries_.push_back(entry);
      return;
    }
    const bool known = std::any_of(from.sources.begin(), from.sources.end(),
                                   [](const SourceOp& source) { return !source.op.empty(); });
    if (!known) {  // it aligns as itself
      entries_.push_back({unitOf(side_, i, shapes_), last_, sequence_++});
      return;
    }
    int32_t most = last_;
    for (size_t s = 0; s < from.sources.size(); ++s) {
      const SourceOp& source = from.sources[s];
      if (source.op.empty()) continue;
      const bool tied = std::any_of(from.ties.begin(), from.ties.end(), [&](const OutputTie& tie) {
        return tie.source == int32_t(s);
      });
      // A node that is computed again in several kernels belongs to the one that writes its value.
      const auto [found, fresh] = nodes_.try_emplace(source.node, entries_.size());
      Unit unit = unitOf(side_, i, int32_t(s), source);
      unit.tied = tied;
      if (fresh || source.node.empty()) {
        entries_.push_back({unit, source.order, sequence_++});
      } else if (tied && !entries_[found->second].unit.tied) {
        entries_[found->second].unit = unit;
      }

      most = std::max(most, source.order);
    }
    last_ = most;
  }

  void moveTo(std::vector<Unit>& out) {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& x, const Entry& y) {
      return x.order != y.order ? x.order < y.order : x.sequence < y.sequence;
    });
    const Entry* before = nullptr;
    for (const Entry& entry : entries_) {
      // An op that was decomposed into several nodes of one kernel is one op of the program.
      const bool same = before != nullptr && before->order == entry.order &&
                        before->unit.op == entry.unit.op && entry.unit.source >= 0 &&
                        before->unit.key(0) == entry.unit.key(0);
      if (!same) out.push_back(entry.unit);
      else out.back().tied |= entry.unit.tied;
      before = &entry;
    }
    entries_.clear();
    nodes_.clear();
    last_ = -1;
    sequence_ = 0;
  }

 private:
  struct Entry {
    Unit unit;
    int32_t order = 0;
    int32_t sequence = 0;
  };
  const SideIndex& side_;
  const DecidedShapes& shapes_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> nodes_;
  int32_t last_ = -1;
  int32_t sequence_ = 0;
};

}  // namespace

bool isUnit(const Op& op, KernelUnits kernels) {
  if (op.kind == OpKind::compiled) return kernels == KernelUnits::whole;
  return true;
}

std::vector<Unit> makeUnits(const SideIndex& side, const Producers& producers,
                            const std::unordered_map<int64_t, uint64_t>& parameters,
                            KernelUnits kernels, bool mixed) {
  std::vector<Unit> units;
  const InputIdentity identity(side, producers, parameters);
  units.reserve(side.size());
  const DecidedShapes shapes(side, producers);
  RegionUnits inside(side, shapes);
  int32_t region = -1;
  for (size_t i = 0; i < side.size(); ++i) {
    const Op& op = side.ops()[i];
    if (kernels == KernelUnits::sources) {
      const int32_t own = op.parent || op.kind == OpKind::compiled ? side.compiledRegion(i) : -1;
      if (own != region) {
        inside.moveTo(units);
        region = own;
      }
      if (region >= 0) {
        if (isUnit(op, kernels)) inside.add(i);
        continue;
      }
      if (op.kind == OpKind::kernel) {  // a kernel outside any region that was seen
        inside.add(i);
        inside.moveTo(units);
        continue;
      }
    }
    if (!isUnit(op, kernels)) continue;
    units.push_back(unitOf(side, i, shapes));
    // Compiled code hands tensors on in other ways than the program: no identity across the two.
    if (!mixed) identity.extend(units.back());
  }
  inside.moveTo(units);
  return units;
}

}  // namespace ulpscope
