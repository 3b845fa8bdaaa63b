// Poller: first stage of a capture; turns a source's polls into chunks.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "codec/error.h"
#include "pipeline/batch.h"
#include "pipeline/event_source.h"

namespace memtrack::pipeline {

/// Fills pooled chunks from a source.
///
/// Promises: chunks are numbered from 0 without gaps; a chunk is given when it is full, or as soon as the source has
/// nothing more at hand, so nothing waits in here; what a failing poll had brought is given before its error is.
/// Ownership: the source and the pool must outlive the poller. Threads: the source's one thread.
class Poller {
 public:
  struct Step {
    std::optional<Chunk> chunk;  ///< absent where the poll brought nothing
    bool drain_reached = false;  ///< see EventSource::Poll
    bool ended = false;
  };

  /// `chunk_events`: 1 to kChunkEvents; smaller than a batch's size makes no sense.
  Poller(EventSource& source, BufferPool<EventBatch>& pool, std::uint32_t chunk_events);

  /// One or more polls of the source, the first with `timeout`, further ones without, until the chunk is full or the
  /// source has nothing at hand.
  [[nodiscard]] Result<Step> step(std::chrono::nanoseconds timeout);

  [[nodiscard]] std::uint64_t next_seq() const { return next_seq_; }

 private:
  EventSource& source_;
  BufferPool<EventBatch>& pool_;
  const std::uint32_t chunk_events_;
  Pooled<EventBatch> chunk_;      // kept over polls that bring nothing
  std::optional<Error> failure_;  // of the last poll, to be told at the next step
  std::uint64_t next_seq_ = 0;
};

}  // namespace memtrack::pipeline
