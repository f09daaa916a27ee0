#include "diff/absorb.h"

#include <algorithm>
#include <unordered_map>

namespace ulpscope {
namespace {

uint64_t mixedKey(uint64_t name, const Place& place, uint64_t line, bool backward) {
  return mix(mix(mix(name, place.path), line), uint64_t(backward));
}

class Absorber {
 public:
  Absorber(const AlignedSide& eager, const AlignedSide& compiled, bool eagerIsA,
           const Alignment& alignment, std::vector<bool>& lost, OpSets& sets)
      : eager_(eager), compiled_(compiled), eagerIsA_(eagerIsA), alignment_(alignment), lost_(lost),
        sets_(sets) {}

  void run() {
    findRegions();
    if (spans_.empty()) return;
    bound();
    absorb();
  }

 private:
  struct RegionSpan {
    int32_t region;                  // op index of the entry
    int64_t low = -1, high = -1;     // units of the eager side around the region, exclusive
    int64_t least = std::numeric_limits<int64_t>::max(), most = -1;  // aligned inside
  };

  void findRegions() {
    for (size_t i = 0; i < compiled_.index.size(); ++i) {
      if (compiled_.index.ops()[i].kind != OpKind::compiled) continue;
      if (compiled_.index.compiledRegion(i) != int32_t(i)) continue;
      spanOf_[int32_t(i)] = spans_.size();
      spans_.push_back({int32_t(i)});
    }
  }

  /// Finds the stretch of the eager side that each region stands for.
  void bound() {
    // Where the ops of the compiled side went, as units of the eager side.
    std::vector<std::pair<uint32_t, int64_t>> outside;  // op of compiled, unit of eager: in order
    const std::vector<int32_t>& back = eagerIsA_ ? alignment_.toA : alignment_.toB;
    for (size_t j = 0; j < compiled_.units.size(); ++j) {
      if (back[j] < 0) continue;
      const Op& op = compiled_.index.ops()[compiled_.units[j].op];
      const int32_t region = compiled_.index.compiledRegion(compiled_.units[j].op);
      if (region < 0) {
        outside.emplace_back(compiled_.units[j].op, back[j]);
        continue;
      }
      // A forward op that a backward region computes again says nothing about where that ran.
      const Op& eagerOp = eager_.index.ops()[eager_.units[size_t(back[j])].op];
      if ((eagerOp.phase == Phase::backward) != (op.phase == Phase::backward)) continue;
      RegionSpan& span = spans_[spanOf_[region]];
      span.least = std::min<int64_t>(span.least, back[j]);
      span.most = std::max<int64_t>(span.most, back[j]);
    }
    std::sort(outside.begin(), outside.end());
    const int64_t end = int64_t(eager_.units.size());
    for (RegionSpan& span : spans_) {
      if (span.most >= 0) {
        // What it holds, and what is next to that without a partner.
        span.low = span.least - 1;
        span.high = span.most + 1;
        while (span.low >= 0 && lost_[size_t(span.low)]) --span.low;
        while (span.high < end && lost_[size_t(span.high)]) ++span.high;
        continue;
      }
      const auto after = std::lower_bound(
          outside.begin(), outside.end(), std::pair<uint32_t, int64_t>(uint32_t(span.region), -1));
      span.low = after == outside.begin() ? -1 : (after - 1)->second;
      span.high = after == outside.end() ? end : after->second;
    }
  }

  void absorb() {
    const std::vector<int32_t>& toCompiled = eagerIsA_ ? alignment_.toB : alignment_.toA;
    for (const RegionSpan& span : spans_) {
      for (int64_t u = span.low + 1; u < span.high; ++u) {
        if (!lost_[size_t(u)] || toCompiled[size_t(u)] >= 0) continue;
        // A region that ran on another step can't have absorbed it.
        const uint32_t op = eager_.units[size_t(u)].op;
        if (eager_.index.ops()[op].step != compiled_.index.ops()[size_t(span.region)].step) continue;
        const int32_t kernel = kernelOf(eager_.units[size_t(u)], span.region);
        const uint32_t own = sets_.node(eagerIsA_, op);
        const uint32_t into = sets_.node(!eagerIsA_, uint32_t(kernel >= 0 ? kernel : span.region));
        sets_.join(own, into);
        sets_.method(own) = sets_.method(into) = Method::provenance;
        lost_[size_t(u)] = false;
      }
    }
  }

  /// The kernel of the region that holds this very op (one that was written twice in the program
  /// and is computed once), or -1.
  int32_t kernelOf(const Unit& unit, int32_t region) {
    if (kernelsRegion_ != region) {
      kernelsRegion_ = region;
      kernels_.clear();
      for (size_t i = size_t(region) + 1; i < compiled_.index.size(); ++i) {
        const Op& op = compiled_.index.ops()[i];
        if (compiled_.index.compiledRegion(i) != region) break;
        if (op.kind != OpKind::kernel) continue;
        for (const SourceOp& source :
             compiled_.index.reader().provenance(op.provenance).sources) {
          const uint64_t key = mixedKey(compiled_.index.name(source), compiled_.index.place(source),
                                        lineOf(source.stack), source.backward);
          kernels_.try_emplace(key, int32_t(i));
          // A line whose op the compiler decomposed, or eager code did.
          kernels_.try_emplace(mixedKey(0, compiled_.index.place(source), lineOf(source.stack),
                                        source.backward),
                               int32_t(i));
        }
      }
    }
    const Op& op = eager_.index.ops()[unit.op];
    const Place place = eager_.index.place(unit.op);
    const uint64_t line = eager_.index.line(unit.op);
    const bool backward = unit.phase == Phase::backward;
    auto found = kernels_.find(mixedKey(eager_.index.name(op), place, line, backward));
    if (found == kernels_.end() && line != 0 && !unit.movesData) {
      found = kernels_.find(mixedKey(0, place, line, backward));
    }
    if (found == kernels_.end() && place.path != 0 && !unit.movesData) {
      found = kernels_.find(mixedKey(0, place, 0, backward));  // its line was not kept
    }
    return found == kernels_.end() ? -1 : found->second;
  }

  const AlignedSide& eager_;
  const AlignedSide& compiled_;
  const bool eagerIsA_;
  const Alignment& alignment_;
  std::vector<bool>& lost_;
  OpSets& sets_;
  std::vector<RegionSpan> spans_;
  std::unordered_map<int32_t, size_t> spanOf_;
  // kernelOf's table of the last region.
  int32_t kernelsRegion_ = -1;
  std::unordered_map<uint64_t, int32_t> kernels_;
};

}  // namespace

void absorbIntoRegions(const AlignedSide& eager, const AlignedSide& compiled, bool eagerIsA,
                       const Alignment& alignment, Lost& lost, OpSets& sets) {
  Absorber(eager, compiled, eagerIsA, alignment, lost.of(eagerIsA), sets).run();
}

}  // namespace ulpscope
