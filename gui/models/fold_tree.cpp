#include "gui/models/fold_tree.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "diff/diff.h"

namespace ulpscope::gui {
namespace {

/// One step of the way from the root to a pair. Regions of the trace keep their id, so that a module
/// which is called twice in a row gives two stretches.
struct Part {
  FoldKind kind;
  uint32_t name;
  uint32_t detail;
  int64_t region;
  bool operator==(const Part&) const = default;
};
using Path = std::vector<Part>;

class Builder {
 public:
  Builder(const DiffResult& result, const std::function<void()>& beforeB)
      : result_(result), beforeB_(beforeB) {
    text("");
    collectModules(result.a);
    tree_.nodes.push_back({});
    tree_.nodeOfPair.reserve(result.pairs.size());
  }

  FoldTree build(const std::function<bool()>& keepGoing) {
    for (uint32_t i = 0; i < result_.pairs.size(); ++i) {
      if (i % 65536 == 0 && keepGoing && !keepGoing()) throw Cancelled{};
      place(i);
    }
    close(0, uint32_t(result_.pairs.size()));
    tree_.nodes[0].end = uint32_t(result_.pairs.size());
    sumLabels();
    return std::move(tree_);
  }

 private:
  void collectModules(const Side& side) {
    if (!side.reader) return;
    for (const Region& region : side.reader->regions())
      if (region.kind == RegionKind::module) modules_.try_emplace(region.name, region.detail);
  }

  uint32_t text(const std::string& value) {
    auto [at, fresh] = textIds_.try_emplace(value, uint32_t(tree_.texts.size()));
    if (fresh) tree_.texts.push_back(value);
    return at->second;
  }

  void place(uint32_t index) {
    const Pair& pair = result_.pairs[index];
    const bool fromA = pair.countA != 0;
    const Side& side = fromA ? result_.a : result_.b;
    const auto members = fromA ? result_.opsA(pair) : result_.opsB(pair);
    if (members.empty()) {
      add(index);
      return;
    }
    const Op& op = side.ops.ops[members[0]];
    const bool sameStretch = index != 0 && op.step == step_ && op.phase == phase_;
    const bool gapOfB = !fromA && sameStretch;
    const bool sameRegion = fromA && sameStretch && lastRegion_ == op.region && op.region &&
                            op.phase != Phase::backward && lastFromA_;
    if (!gapOfB && !sameRegion) {
      if (!fromA && !usesB_) {
        if (beforeB_) beforeB_();
        collectModules(result_.b);
        usesB_ = true;
      }
      findPath(side, op);
      open(index);
    }
    step_ = op.step;
    phase_ = op.phase;
    if (!gapOfB) {
      lastRegion_ = op.region;
      lastFromA_ = fromA;
    }
    add(index);
  }

  void add(uint32_t) {
    tree_.nodeOfPair.push_back(stack_.empty() ? 0 : stack_.back());
  }

  /// The way to an op, in next_.
  void findPath(const Side& side, const Op& op) {
    Path& path = next_;
    path.clear();
    if (op.step != namedStep_ || stepText_ == 0) {
      namedStep_ = op.step;
      stepText_ = text(std::to_string(op.step));
    }
    uint32_t& phase = phaseTexts_[size_t(op.phase)];
    if (phase == 0) phase = text(std::string(name(op.phase)));
    path.push_back({FoldKind::step, stepText_, 0, 0});
    path.push_back({FoldKind::phase, phase, 0, 0});
    if (!side.reader) return;
    std::vector<const Region*>& chain = chain_;
    chain.clear();
    for (RegionId id = op.region; id && chain.size() < 256;) {
      const Region& region = side.reader->region(id);
      if (!region.id) break;
      chain.push_back(&region);
      id = region.parent;
    }
    bool inModule = false;
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
      const Region& region = **at;
      // One autograd node is about one op: folding by it would only add lines.
      if (region.kind == RegionKind::autograd) continue;
      const bool module = region.kind == RegionKind::module;
      inModule = inModule || module;
      path.push_back({module ? FoldKind::module : FoldKind::region, text(region.name),
                      text(region.detail), region.id.value});
    }
    if (inModule) return;
    const auto module = side.reader->module(op);
    if (module != lastModule_ || side.reader.get() != lastReader_) {
      lastModule_ = module;
      lastReader_ = side.reader.get();
      auto [known, fresh] = modulePaths_.try_emplace(module.first + '\n' + module.second);
      if (fresh) addModule(module, known->second);
      lastPath_ = &known->second;
    }
    path.insert(path.end(), lastPath_->begin(), lastPath_->end());
  }

  /// A module that no region encloses (backward, or inside a kernel): its known parents come first.
  void addModule(const std::pair<std::string, std::string>& module, Path& path) {
    const auto& [name, type] = module;
    if (name.empty() && type.empty()) return;
    const std::string_view whole = name;
    if (const auto root = modules_.find(""); root != modules_.end() && !name.empty())
      path.push_back({FoldKind::module, 0, text(root->second), 0});
    for (size_t dot = whole.find('.'); dot != whole.npos; dot = whole.find('.', dot + 1)) {
      const auto parent = modules_.find(std::string(whole.substr(0, dot)));
      if (parent == modules_.end()) continue;
      path.push_back({FoldKind::module, text(parent->first), text(parent->second), 0});
    }
    path.push_back({FoldKind::module, text(name), text(type), 0});
  }

  void open(uint32_t index) {
    const Path& path = next_;
    size_t common = 0;
    while (common < path.size() && common < path_.size() && path[common] == path_[common]) ++common;
    close(common, index);
    for (size_t depth = common; depth < path.size(); ++depth) {
      FoldNode node;
      node.parent = stack_.empty() ? 0 : stack_.back();
      node.first = index;
      node.name = path[depth].name;
      node.detail = path[depth].detail;
      node.kind = path[depth].kind;
      node.depth = uint16_t(depth + 1);
      tree_.nodes[node.parent].leaf = false;
      stack_.push_back(uint32_t(tree_.nodes.size()));
      if (node.kind == FoldKind::step || node.kind == FoldKind::phase)
        tree_.stretches.push_back(stack_.back());
      tree_.nodes.push_back(node);
    }
    std::swap(path_, next_);
  }

  void close(size_t depth, uint32_t end) {
    while (stack_.size() > depth) {
      tree_.nodes[stack_.back()].end = end;
      stack_.pop_back();
    }
  }

  void sumLabels() {
    for (uint32_t i = 0; i < result_.pairs.size(); ++i)
      ++tree_.nodes[tree_.nodeOfPair[i]].labels[size_t(result_.pairs[i].label)];
    for (size_t i = tree_.nodes.size(); i-- > 1;) {
      FoldNode& parent = tree_.nodes[tree_.nodes[i].parent];
      for (int label = 0; label < kLabelCount; ++label)
        parent.labels[label] += tree_.nodes[i].labels[label];
    }
  }

  const DiffResult& result_;
  const std::function<void()>& beforeB_;
  FoldTree tree_;
  std::unordered_map<std::string, uint32_t> textIds_;
  std::unordered_map<std::string, std::string> modules_;  ///< name to class
  std::vector<uint32_t> stack_;                           ///< open nodes
  Path path_;
  Path next_;
  std::vector<const Region*> chain_;
  int32_t namedStep_ = 0;
  uint32_t stepText_ = 0;  ///< 0: not asked yet
  std::array<uint32_t, 4> phaseTexts_{};
  std::unordered_map<std::string, Path> modulePaths_;  ///< by name and class
  std::pair<std::string, std::string> lastModule_;
  const Reader* lastReader_ = nullptr;
  const Path* lastPath_ = nullptr;
  bool usesB_ = false;
  int32_t step_ = 0;
  Phase phase_ = Phase::other;
  RegionId lastRegion_;
  bool lastFromA_ = false;
};

}  // namespace

FoldTree foldPairs(const DiffResult& result, const std::function<bool()>& keepGoing,
                   const std::function<void()>& beforeB) {
  return Builder(result, beforeB).build(keepGoing);
}

}  // namespace ulpscope::gui
