#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "diff/result.h"

namespace ulpscope::gui {

inline constexpr int kLabelCount = 8;

enum class FoldKind : uint8_t { root, step, phase, module, region };

/// A stretch of pairs with one step, phase, module or region. The pairs of a node and of all nodes
/// below it are contiguous.
struct FoldNode {
  uint32_t parent = 0;
  uint32_t first = 0;  ///< pairs
  uint32_t end = 0;
  uint32_t name = 0;    ///< in FoldTree::texts
  uint32_t detail = 0;  ///< class of a module, backend of a compiled region
  uint16_t depth = 0;   ///< 0: root
  FoldKind kind = FoldKind::root;
  bool leaf = true;  ///< no node below it
  std::array<uint32_t, kLabelCount> labels{};
};

/// The pairs folded by step, phase, module and region. Nodes stand in the order in which they open,
/// so that a child comes after its parent; node 0 is the root.
struct FoldTree {
  std::vector<FoldNode> nodes;
  std::vector<uint32_t> nodeOfPair;
  std::vector<std::string> texts;

  /// Steps and phases, in order: few, and what maps of the whole run are divided by.
  std::vector<uint32_t> stretches;

  const std::string& nameOf(const FoldNode& node) const { return texts[node.name]; }
  const std::string& detailOf(const FoldNode& node) const { return texts[node.detail]; }
};

/// An op of B alone stays in the stretch in which it occurs, where step and phase agree: it is a gap
/// there and not a module of its own. Cost is linear in the pairs.
/// `beforeB` is called once before B's reader is used, which may still be at work elsewhere until then.
FoldTree foldPairs(const DiffResult& result, const std::function<bool()>& keepGoing,
                   const std::function<void()>& beforeB = {});

}  // namespace ulpscope::gui
