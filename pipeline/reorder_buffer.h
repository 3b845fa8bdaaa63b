// ReorderBuffer: numbered items in any order in, in order out.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace memtrack::pipeline {

/// A ring of `size` places, place seq % size for number seq. Never grows: pair it with a SequenceWindow of at most that
/// size in front, and no item is refused.
/// Threads: one at a time.
template <class T>
class ReorderBuffer {
 public:
  explicit ReorderBuffer(std::size_t size, std::uint64_t first_seq = 0) : places_(size), next_seq_(first_seq) {
    assert(size > 0);
  }

  /// False, and `item` untouched, where `seq` was taken already, is there twice, or is too far ahead.
  [[nodiscard]] bool put(std::uint64_t seq, T&& item) {
    if (seq < next_seq_ || seq - next_seq_ >= places_.size()) return false;
    std::optional<T>& place = places_[seq % places_.size()];
    if (place) return false;
    place.emplace(std::move(item));
    ++held_;
    return true;
  }
  /// The item next in order, if it is there.
  [[nodiscard]] std::optional<T> take_next() {
    std::optional<T> item = std::exchange(places_[next_seq_ % places_.size()], std::nullopt);
    if (!item) return item;
    ++next_seq_;
    --held_;
    return item;
  }
  /// All numbers below have been taken.
  [[nodiscard]] std::uint64_t next_seq() const { return next_seq_; }
  [[nodiscard]] std::size_t held() const { return held_; }

 private:
  std::vector<std::optional<T>> places_;
  std::uint64_t next_seq_;
  std::size_t held_ = 0;
};

}  // namespace memtrack::pipeline
