#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ulpscope {

/// 128 bits that stand for a value: its digest, or a hash of its bytes.
struct Key128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Key128&, const Key128&) = default;
};

/// The ids of the values seen lately, in bounded memory: two generations of an open-addressed
/// table; what is found in the old one moves to the young one, and when the young one is full the
/// old one is forgotten. A value that was forgotten gets a second id, which the format allows.
class RecentMap {
 public:
  /// Remembers at least the last `generation` values that were found or inserted, at most twice as
  /// many.
  explicit RecentMap(size_t generation) : generation_(generation) {}

  /// 0 where it is not known.
  int64_t find(const Key128& key) {
    if (const int64_t id = young_.find(key)) return id;
    const int64_t id = old_.find(key);
    if (id != 0) insert(key, id);
    return id;
  }
  void insert(const Key128& key, int64_t id) {
    if (young_.size() >= generation_) {
      std::swap(young_, old_);
      young_.clear();
    }
    young_.insert(key, id);
  }

 private:
  class Table {
   public:
    size_t size() const { return size_; }
    void clear() {
      slots_.assign(slots_.size(), {});
      size_ = 0;
    }
    int64_t find(const Key128& key) const {
      if (slots_.empty()) return 0;
      const size_t mask = slots_.size() - 1;
      for (size_t i = key.low & mask;; i = (i + 1) & mask) {
        if (slots_[i].id == 0 || slots_[i].key == key) return slots_[i].id;
      }
    }
    void insert(const Key128& key, int64_t id) {
      if (2 * (size_ + 1) > slots_.size()) grow();
      place(key, id);
      ++size_;
    }

   private:
    struct Slot {
      Key128 key;
      int64_t id = 0;  ///< 0: free
    };
    void place(const Key128& key, int64_t id) {
      const size_t mask = slots_.size() - 1;
      size_t i = key.low & mask;
      while (slots_[i].id != 0) i = (i + 1) & mask;
      slots_[i] = {key, id};
    }
    void grow() {
      std::vector<Slot> before(slots_.empty() ? 64 : 2 * slots_.size());
      before.swap(slots_);
      for (const Slot& slot : before) {
        if (slot.id != 0) place(slot.key, slot.id);
      }
    }
    std::vector<Slot> slots_;
    size_t size_ = 0;
  };

  size_t generation_;
  Table young_;
  Table old_;
};

}  // namespace ulpscope
