#include "gui/models/selection.h"

#include <algorithm>

#include "gui/models/dataflow.h"
#include "gui/models/error_series.h"

namespace ulpscope::gui {

Selection::Selection(QObject* parent) : QObject(parent) {}

void Selection::setDocument(std::shared_ptr<const Document> document, bool keep) {
  uint32_t wanted = kNoPair;
  if (keep && document && document_ && pair_ != kNoPair) {
    for (SideName which : {SideName::a, SideName::b}) {
      const auto members = document_->members(document_->pairs()[pair_], which);
      if (wanted == kNoPair && !members.empty())
        wanted = document->pairOf(which, document_->side(which).ops.ops[members[0]].id);
    }
  }
  document_ = std::move(document);
  starts_ = document_ ? startingPairs(*document_) : std::vector<uint32_t>();
  way_.clear();
  at_ = 0;
  pair_ = kNoPair;
  if (!document_) return;
  if (wanted == kNoPair) wanted = document_->opening();
  choose(wanted);
}

void Selection::show(uint32_t pair, int line) {
  pair_ = pair;
  emit chosen(pair, line);
}

void Selection::choose(uint32_t pair, int line) {
  if (!document_ || pair >= document_->pairs().size()) return;
  if (pair != pair_) {
    constexpr size_t kLongestWay = 1000;
    if (!way_.empty()) way_.resize(at_ + 1);
    if (way_.size() >= kLongestWay) way_.erase(way_.begin());
    way_.push_back(pair);
    at_ = way_.size() - 1;
  }
  show(pair, line);
}

void Selection::back() {
  if (canGoBack()) show(way_[--at_], -1);
}

void Selection::forward() {
  if (canGoForward()) show(way_[++at_], -1);
}

void Selection::nextStart() {
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), pair_);
  if (next != starts_.end()) choose(*next);
}

void Selection::previousStart() {
  const auto next = std::lower_bound(starts_.begin(), starts_.end(), pair_);
  if (next != starts_.begin()) choose(*std::prev(next));
}

void Selection::firstStart() {
  if (document_) choose(document_->opening());
}

void Selection::nextDifference() {
  if (!document_) return;
  for (uint32_t i = pair_ + 1; i < document_->pairs().size(); ++i)
    if (document_->pairs()[i].label != Label::identical) return choose(i);
}

void Selection::previousDifference() {
  if (!document_ || pair_ == kNoPair) return;
  for (uint32_t i = pair_; i-- > 0;)
    if (document_->pairs()[i].label != Label::identical) return choose(i);
}

bool Selection::toProducer() {
  if (!document_ || pair_ == kNoPair) return false;
  const auto way = walkToOrigin(*document_, pair_);
  if (!way.empty()) {
    choose(way.front());
    return true;
  }
  for (const FlowNeighbour& producer : flowAround(*document_, pair_).producers)
    if (producer.pair != kNoPair) {
      choose(producer.pair);
      return true;
    }
  return false;
}

int Selection::toOrigin() {
  if (!document_ || pair_ == kNoPair) return 0;
  const auto way = walkToOrigin(*document_, pair_);
  if (!way.empty()) choose(way.back());
  return int(way.size());
}

int Selection::startIndex() const {
  const auto at = std::lower_bound(starts_.begin(), starts_.end(), pair_);
  return at != starts_.end() && *at == pair_ ? int(at - starts_.begin()) : -1;
}

}  // namespace ulpscope::gui
