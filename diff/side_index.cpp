#include "diff/side_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <unordered_map>

#include "diff/scalar_meaning.h"

namespace ulpscope {

uint64_t hashText(std::string_view text) {
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  return hash == 0 ? 1 : hash;
}

uint64_t mix(uint64_t seed, uint64_t value) {
  // The finaliser of splitmix64 over a sum that depends on order.
  uint64_t x = seed * 0x9E3779B97F4A7C15ull + value + 0x632BE59BD9B4E019ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

std::string normalisedPath(std::string_view path) {
  std::string result;
  size_t begin = 0;
  while (begin < path.size()) {
    size_t end = path.find('.', begin);
    if (end == std::string_view::npos) end = path.size();
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part == "_orig_mod" || part == "module" || part == "_fsdp_wrapped_module" ||
        part == "_checkpoint_wrapped_module" || part.empty()) {
      continue;
    }
    if (!result.empty()) result.push_back('.');
    result.append(part);
  }
  return result;
}

Place placeOf(std::string_view path, std::string_view moduleClass) {
  Place place;
  const std::string normal = normalisedPath(path);
  place.path = hashText(normal);
  if (!moduleClass.empty()) {
    place.leaf = hashText(moduleClass);
  } else {
    const size_t dot = normal.rfind('.');
    place.leaf = hashText(dot == std::string::npos ? normal : normal.substr(dot + 1));
  }
  return place;
}

const Frame* userFrame(const Stack& stack) {
  // Functional wrappers inside torch differ between eager code and what a compiler remembers; the
  // program's own line does not.
  for (const Frame& frame : stack) {
    if (frame.file.find("/torch/") == std::string::npos) return &frame;
  }
  return stack.empty() ? nullptr : &stack.front();
}

uint64_t lineOf(const Stack& stack) {
  const Frame* frame = userFrame(stack);
  // An optimizer's update is written in torch.optim: there is its place, in eager code and in what a
  // compiler remembers, which begins inside step() and knows no line of the program.
  for (const Frame& each : stack) {
    if (&each == frame) break;
    if (each.file.find("/torch/optim/") == std::string::npos) continue;
    frame = &each;
    break;
  }
  if (frame == nullptr) return 0;
  std::string_view file = frame->file;
  if (const size_t slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  return mix(hashText(file), uint64_t(uint32_t(frame->line)));
}

SideIndex::SideIndex(const Side& side, const Mapping* asA) 
    : ops_(side.ops.ops), operands_(side.ops.operands), reader_(side.reader), asA_(asA) {
  hashTables();
  linkBackward();
}

void SideIndex::hashTables() {
  const Reader& reader = *reader_;
  uint32_t schemas = 0, scalars = 0, stacks = 0, types = 0;
  for (const Op& op : ops()) {
    schemas = std::max(schemas, op.schema.value);
    scalars = std::max(scalars, op.scalars.value);
    stacks = std::max(stacks, op.stack.value);
  }
  for (const Operand& operand : operands()) {
    types = std::max(types, operand.type.value);
    if (operand.flags & kParameter) parameters_.insert(operand.storage.value);
  }

  facts_.resize(size_t(schemas) + 1);
  names_.assign(size_t(schemas) + 1, 0);
  variants_.assign(size_t(schemas) + 1, 0);
  for (uint32_t id = 0; id <= schemas; ++id) {
    const Schema& schema = reader.schema(SchemaId{id});
    facts_[id] = factsOf(schema);
    names_[id] = hashText(baseName(asA_ ? asA_->opName(schema.name) : schema.name));
    variants_[id] = mix(hashText(schema.name), hashText(schema.overload));
  }
  scalars_.assign(size_t(scalars) + 1, 0);
  for (uint32_t id = 1; id <= scalars; ++id) {
    uint64_t hash = 0;
    for (const Scalar& scalar : reader.scalars(ScalarsId{id})) {
      const std::string meaning = meaningOf("", scalar.text);
      if (meaning.empty()) continue;
      hash = mix(hash, mix(uint64_t(uint16_t(scalar.arg)), hashText(meaning)));
    }
    scalars_[id] = hash;
  }
  lines_.assign(size_t(stacks) + 1, 0);
  for (uint32_t id = 1; id <= stacks; ++id) lines_[id] = lineOf(reader.stack(StackId{id}));
  types_.assign(size_t(types) + 1, 0);
  ranks_.assign(size_t(types) + 1, 0);
  for (uint32_t id = 1; id <= types; ++id) {
    const TensorType& type = reader.type(TypeId{id});
    uint64_t hash = uint64_t(type.dtype) + 1;
    for (const int64_t size : type.sizes) hash = mix(hash, uint64_t(size));
    types_[id] = hash;
    ranks_[id] = mix(uint64_t(type.dtype) + 1, type.sizes.size());
  }

  const std::vector<Region>& regions = reader.regions();
  const size_t regionIds = regions.empty() ? 1 : size_t(regions.back().id.value) + 1;
  places_.assign(regionIds, {});
  moduleRegion_.assign(regionIds, -1);
  std::unordered_map<std::string, Place> seen;
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region& region = regions[i];
    if (region.id.value < 0 || size_t(region.id.value) >= regionIds) continue;
    const size_t id = size_t(region.id.value);
    if (region.kind == RegionKind::module) {
      moduleRegion_[id] = int32_t(i);
      auto [found, fresh] = seen.try_emplace(region.name + '\n' + region.detail);
      if (fresh) {
        found->second =
            placeOf(asA_ ? asA_->modulePath(region.name) : region.name, region.detail);
      }
      places_[id] = found->second;
    } else if (region.parent.value > 0 && size_t(region.parent.value) < regionIds) {
      // A parent is written before its children and has the smaller id.
      moduleRegion_[id] = moduleRegion_[size_t(region.parent.value)];
      places_[id] = places_[size_t(region.parent.value)];
    }
  }
}

void SideIndex::linkBackward() {
  const std::span<const Op> all = ops();
  dense_ = !all.empty() && all.back().id.value - all.front().id.value + 1 == int64_t(all.size());
  forward_.assign(all.size(), -1);
  // A sequence number is handed out once per thread, to the forward op that made the graph node.
  std::unordered_map<uint64_t, int32_t> bySequence;
  for (size_t i = 0; i < all.size(); ++i) {
    const Op& op = all[i];
    if (op.sequence < 0) continue;
    if (op.phase == Phase::backward) {
      const auto [found, fresh] =
          bySequence.try_emplace(mix(op.forwardThread, uint64_t(op.sequence)), int32_t(i));
      // Not seen before: a forward op that runs again inside the backward (checkpointing).
      if (!fresh) forward_[i] = found->second;
    } else {
      // Several ops may run before the node takes the number; the last one is the op itself.
      bySequence[mix(op.thread, uint64_t(op.sequence))] = int32_t(i);
    }
  }
}

const Op& SideIndex::wherePlaced(size_t op) const {
  const Op& own = ops()[op];
  const int32_t forward = forward_[op];
  if (forward < 0) return own;
  // A module that is called inside the backward (recomputation) is the op's own place.
  const int64_t region = own.region.value;
  if (region > 0 && reader_->region(own.region).kind == RegionKind::module) return own;
  return ops()[size_t(forward)];
}

Place SideIndex::place(size_t op) const {
  const int64_t region = wherePlaced(op).region.value;
  if (region <= 0 || size_t(region) >= places_.size()) return {};
  return places_[size_t(region)];
}

int32_t SideIndex::indexOf(OpId id) const {
  const std::span<const Op> all = ops();
  if (!id || all.empty()) return -1;
  if (dense_) {
    const int64_t at = id.value - all.front().id.value;
    return at >= 0 && at < int64_t(all.size()) ? int32_t(at) : -1;
  }
  const auto found = std::lower_bound(all.begin(), all.end(), id,
                                      [](const Op& op, OpId wanted) { return op.id < wanted; });
  return found != all.end() && found->id == id ? int32_t(found - all.begin()) : -1;
}

std::pair<std::string, std::string> SideIndex::module(size_t op) const {
  const int64_t region = wherePlaced(op).region.value;
  if (region <= 0 || size_t(region) >= moduleRegion_.size()) return {};
  const int32_t at = moduleRegion_[size_t(region)];
  if (at < 0) return {};
  const Region& module = reader_->regions()[size_t(at)];
  return {module.name, module.detail};
}

const Stack& SideIndex::stack(size_t op) const {
  return reader_->stack(wherePlaced(op).stack);
}

Place SideIndex::place(const SourceOp& source) const {
  if (source.module.empty() && source.moduleClass.empty()) return {};
  return placeOf(asA_ ? asA_->modulePath(source.module) : source.module, source.moduleClass);
}

uint64_t SideIndex::name(const SourceOp& source) const {
  return hashText(baseName(asA_ ? asA_->opName(source.op) : source.op));
}

OpFacts SideIndex::facts(const SourceOp& source) const {
  Schema schema;
  schema.name = source.op;
  return factsOf(schema);
}

int32_t SideIndex::compiledRegion(size_t op) const {
  int32_t at = int32_t(op);
  // Wrappers and regions nest a few levels; a damaged file may hold a cycle.
  for (int depth = 0; at >= 0 && depth < 64; ++depth) {
    const Op& here = ops()[size_t(at)];
    if (here.kind == OpKind::compiled) return at;
    at = indexOf(here.parent);
  }
  return -1;
}

}  // namespace ulpscope
