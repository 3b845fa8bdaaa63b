// MergeHeap: which lane comes next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace memtrack::preload {

struct Lane;

/// A binary heap of lanes by the key of their front, smallest first. Keys are copies: the owner replaces the top's key
/// when the lane has moved on.
class MergeHeap {
 public:
  struct Entry {
    std::uint64_t key;
    Lane* lane;
  };

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const Entry& top() const { return entries_.front(); }
  /// The smallest key but the top's.
  [[nodiscard]] std::uint64_t second_key() const {
    if (entries_.size() < 2) return UINT64_MAX;
    return entries_.size() < 3 ? entries_[1].key : std::min(entries_[1].key, entries_[2].key);
  }
  void push(std::uint64_t key, Lane& lane) {
    entries_.push_back({key, &lane});
    std::size_t at = entries_.size() - 1;
    while (at > 0 && entries_[(at - 1) / 2].key > key) {
      std::swap(entries_[at], entries_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
  }
  void replace_top(std::uint64_t key) {
    entries_.front().key = key;
    sift_down();
  }
  void pop() {
    entries_.front() = entries_.back();
    entries_.pop_back();
    sift_down();
  }
  void clear() { entries_.clear(); }

 private:
  void sift_down() {
    const std::size_t count = entries_.size();
    std::size_t at = 0;
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= count) return;
      if (child + 1 < count && entries_[child + 1].key < entries_[child].key) ++child;
      if (entries_[child].key >= entries_[at].key) return;
      std::swap(entries_[at], entries_[child]);
      at = child;
    }
  }

  std::vector<Entry> entries_;
};

}  // namespace memtrack::preload
