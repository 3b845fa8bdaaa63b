// Batcher: gathers chunks into batches of exactly the configured number of events.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/batch.h"
#include "pipeline/capture_options.h"

namespace memtrack::pipeline {

/// How to use: add(chunk, now), then next_full() until it gives nothing; flush_if_older(now) at every tick; flush() at
/// drain and shutdown. Time is passed in (any monotonic clock).
///
/// Promises: order kept; batches numbered from 0 without gaps; every batch but a flushed one has exactly
/// options.events events, or, where chunks hold options.bytes or more before that, all that is there; flush() of
/// nothing gives nothing; no copy of events, but where small chunks of a slow source are merged so that a batch never
/// holds many nearly empty buffers.
/// Threads: one. Bounds: one batch and one chunk.
class Batcher {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Batcher(const BatchOptions& options);

  void add(Chunk chunk, Clock::time_point now);
  [[nodiscard]] std::optional<Batch> next_full();
  /// The partial batch. (A full one where next_full() was not asked first; then call again.)
  [[nodiscard]] std::optional<Batch> flush();
  /// flush(), if the first pending event came flush_interval or more before `now`.
  [[nodiscard]] std::optional<Batch> flush_if_older(Clock::time_point now);

  [[nodiscard]] std::uint64_t next_seq() const { return next_seq_; }
  [[nodiscard]] std::uint64_t pending_events() const { return pending_events_; }

 private:
  bool merge(const EventBatch& events);
  Batch cut(std::uint64_t events);

  const BatchOptions options_;
  std::vector<Slice> slices_;  // what is pending, in order
  std::uint64_t pending_events_ = 0;
  std::uint64_t pending_bytes_ = 0;  // of the slices' whole chunks
  Clock::time_point oldest_{};       // when the first pending event came; meaningful where there is one
  Clock::time_point newest_{};       // when the last chunk came
  std::uint64_t next_seq_ = 0;
};

}  // namespace memtrack::pipeline
