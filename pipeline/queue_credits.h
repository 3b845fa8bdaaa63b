// QueueCredits: the exact bound of a queue, its closed state and its high-water marks.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace memtrack::pipeline {

struct QueueLimits {
  std::uint64_t items;  ///< 1 to QueueCredits::kMaxItems
  std::uint64_t bytes;  ///< 1 to QueueCredits::kMaxBytes
};

/// Counts what is inside a queue. Everything that decides a push is in one 64-bit word,
///     closed (1 bit) | items (23 bits) | bytes (40 bits)
/// so one compare-exchange gives accepted, full or closed exactly, and "closed and empty" is one load.
///
/// Credits are taken before an item is enqueued and given back after it is dequeued, so in a closed queue 0 items mean
/// that nothing is inside nor under way. An item larger than the byte bound is let in where there is no other.
/// Threads: any; lock-free. The caller must not count more than kMaxBytes for an item.
class QueueCredits {
 public:
  static constexpr std::uint64_t kMaxItems = (std::uint64_t{1} << 23) - 1;
  static constexpr std::uint64_t kMaxBytes = (std::uint64_t{1} << 40) - 1;

  /// A snapshot of the word.
  class State {
   public:
    constexpr explicit State(std::uint64_t word) : word_(word) {}
    [[nodiscard]] bool closed() const { return (word_ & kClosedBit) != 0; }
    [[nodiscard]] bool drained() const { return closed() && items() == 0; }
    [[nodiscard]] std::uint64_t items() const { return (word_ & ~kClosedBit) >> kItemShift; }
    [[nodiscard]] std::uint64_t bytes() const { return word_ & kMaxBytes; }

   private:
    std::uint64_t word_;
  };
  enum class Taken { kAccepted, kFull, kClosed };

  /// Throws std::invalid_argument where a limit is out of range.
  explicit QueueCredits(const QueueLimits& limits) : limits_(limits) {
    if (limits.items < 1 || limits.items > kMaxItems || limits.bytes < 1 || limits.bytes > kMaxBytes) {
      throw std::invalid_argument("queue limits: items must be 1 to 8388607, bytes 1 to 1099511627775");
    }
  }

  [[nodiscard]] State state() const { return State(word_.load(std::memory_order_seq_cst)); }
  [[nodiscard]] bool fits(State state, std::uint64_t bytes) const {
    return state.items() == 0 || (state.items() < limits_.items && state.bytes() + bytes <= limits_.bytes);
  }

  [[nodiscard]] Taken take(std::uint64_t bytes) {
    std::uint64_t word = word_.load(std::memory_order_seq_cst);
    do {
      if (State(word).closed()) return Taken::kClosed;
      if (!fits(State(word), bytes)) return Taken::kFull;
    } while (!word_.compare_exchange_weak(word, word + kOneItem + bytes, std::memory_order_seq_cst));
    raise(high_items_, State(word).items() + 1);
    raise(high_bytes_, State(word).bytes() + bytes);
    return Taken::kAccepted;
  }
  /// Gives back the credits of one item; returns what is left.
  State give_back(std::uint64_t bytes) {
    const std::uint64_t credits = kOneItem + bytes;
    return State(word_.fetch_sub(credits, std::memory_order_seq_cst) - credits);
  }
  /// True for the one call that closed it.
  bool close() { return !State(word_.fetch_or(kClosedBit, std::memory_order_seq_cst)).closed(); }

  [[nodiscard]] std::uint64_t high_water_items() const { return high_items_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t high_water_bytes() const { return high_bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kItemShift = 40;
  static constexpr std::uint64_t kOneItem = std::uint64_t{1} << kItemShift;
  static constexpr std::uint64_t kClosedBit = std::uint64_t{1} << 63;

  static void raise(std::atomic<std::uint64_t>& mark, std::uint64_t value) {
    std::uint64_t old = mark.load(std::memory_order_relaxed);
    while (old < value && !mark.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
    }
  }

  const QueueLimits limits_;
  alignas(64) std::atomic<std::uint64_t> word_{0};
  alignas(64) std::atomic<std::uint64_t> high_items_{0};
  std::atomic<std::uint64_t> high_bytes_{0};
};

}  // namespace memtrack::pipeline
