// Batcher: gathers chunks into batches of exactly the configured number of events.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "pipeline/batch.h"
#include "pipeline/capture_options.h"

namespace memtrack::pipeline {

/// How to use: add(chunk, now), then next_full() until it gives nothing; flush_if_older(now) at every tick; flush() at
/// drain and shutdown. Time is passed in (any monotonic clock).
///
/// Promises: order kept; batches numbered from 0 without gaps; every batch but a flushed one has exactly
/// options.events events (or passes options.bytes); flush() of nothing gives nothing; no copy of events, but where
/// small chunks of a slow source are merged so that a batch never holds many nearly empty buffers.
/// Threads: one. Bounds: one batch and one chunk.
class Batcher {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Batcher(const BatchOptions& options);

  void add(Chunk chunk, Clock::time_point now);
  [[nodiscard]] std::optional<Batch> next_full();
  [[nodiscard]] std::optional<Batch> flush();
  /// The partial batch, if its first event came flush_interval or more before `now`.
  [[nodiscard]] std::optional<Batch> flush_if_older(Clock::time_point now);

  [[nodiscard]] std::uint64_t next_seq() const;
  [[nodiscard]] std::uint64_t pending_events() const;

 private:
  // completed by the implementation
};

}  // namespace memtrack::pipeline
