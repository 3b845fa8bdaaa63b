// SequenceWindow: how far the front of a pipeline may run ahead of its ordered end.
#pragma once

#include <atomic>
#include <cstdint>

namespace memtrack::pipeline {

/// The widest window that the ordered end (ArtifactWriter) takes.
inline constexpr std::uint64_t kMaxSequenceWindow = 1024;

/// Bounds the numbered items between a stage that gives out numbers (the batcher) and one that takes them strictly in
/// order (the writer). As only `size` numbers are out at a time, the one that waits for a missing number holds fewer
/// than `size` items and never has to refuse one, so a full window can't deadlock.
/// Threads: admits() by the numbering side, advance() by the ordered side; lock-free. Waiting is the caller's matter:
/// after advance(), ring the numbering side's doorbell.
class SequenceWindow {
 public:
  explicit SequenceWindow(std::uint64_t size) : size_(size) {}
  [[nodiscard]] bool admits(std::uint64_t seq) const { return seq < done_.load(std::memory_order_seq_cst) + size_; }
  /// All numbers below `done` are finished.
  void advance(std::uint64_t done) { done_.store(done, std::memory_order_seq_cst); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  const std::uint64_t size_;
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace memtrack::pipeline
