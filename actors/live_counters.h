// LiveCounters: the numbers of a running capture, readable from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "codec/loss.h"
#include "pipeline/artifact_writer.h"
#include "pipeline/counters.h"

namespace memtrack::actors {

/// Each number is written by the one stage that knows it, but queue_full. In a snapshot no more events are written than
/// polled: the writer's numbers are read first.
class LiveCounters {
 public:
  // By the poller.
  void add_chunk(std::uint64_t events) {
    add(events_polled_, events);
    add(chunks_, 1);
  }
  void publish_losses(const LossCounters& losses) {
    for (std::size_t i = 0; i < kLossCauseCount; ++i) losses_[i].store(losses.by_cause[i], std::memory_order_relaxed);
  }
  // By the batcher.
  void add_batch() { add(batches_, 1); }
  // By the writer.
  void publish_written(const pipeline::ArtifactWriter::Totals& totals) {
    frames_written_.store(totals.frames, std::memory_order_relaxed);
    raw_bytes_.store(totals.raw_bytes, std::memory_order_relaxed);
    file_bytes_.store(totals.file_bytes, std::memory_order_relaxed);
    // Release: who reads it sees the numbers above and those of the stages that these events came through.
    events_written_.store(totals.events, std::memory_order_release);
  }
  // By any stage.
  void add_queue_full() { queue_full_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] LossCounters losses() const {
    LossCounters losses;
    for (std::size_t i = 0; i < kLossCauseCount; ++i) losses.by_cause[i] = losses_[i].load(std::memory_order_relaxed);
    return losses;
  }
  [[nodiscard]] pipeline::CaptureCounters snapshot() const {
    pipeline::CaptureCounters counters;
    counters.events_written = events_written_.load(std::memory_order_acquire);
    counters.frames_written = frames_written_.load(std::memory_order_relaxed);
    counters.raw_bytes = raw_bytes_.load(std::memory_order_relaxed);
    counters.file_bytes = file_bytes_.load(std::memory_order_relaxed);
    counters.batches = batches_.load(std::memory_order_relaxed);
    counters.chunks = chunks_.load(std::memory_order_relaxed);
    counters.events_polled = events_polled_.load(std::memory_order_relaxed);
    counters.queue_full = queue_full_.load(std::memory_order_relaxed);
    counters.losses = losses();
    return counters;
  }

 private:
  using Counter = std::atomic<std::uint64_t>;
  // One writer: no read-modify-write needed.
  static void add(Counter& counter, std::uint64_t count) {
    counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }

  alignas(64) Counter events_polled_{0};
  Counter chunks_{0};
  std::array<Counter, kLossCauseCount> losses_{};
  alignas(64) Counter batches_{0};
  alignas(64) Counter events_written_{0};
  Counter frames_written_{0};
  Counter raw_bytes_{0};
  Counter file_bytes_{0};
  alignas(64) Counter queue_full_{0};
};

}  // namespace memtrack::actors
