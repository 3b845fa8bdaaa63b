#include "pipeline/poller.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace memtrack::pipeline {

Poller::Poller(EventSource& source, BufferPool<EventBatch>& pool, std::uint32_t chunk_events)
    : source_(source),
      pool_(pool),
      chunk_events_(std::clamp<std::uint32_t>(chunk_events, 1, static_cast<std::uint32_t>(kChunkEvents))) {}

Result<Poller::Step> Poller::step(std::chrono::nanoseconds timeout) {
  if (failure_) return std::unexpected(*failure_);
  if (!chunk_) chunk_ = pool_.take();
  assert(chunk_->capacity() >= chunk_events_);
  Step step;
  while (!step.ended && !step.drain_reached && chunk_->size() < chunk_events_ &&
         chunk_->payload_bytes() < kChunkPayloadBytes) {
    const std::size_t before = chunk_->size();
    const auto poll = source_.poll(*chunk_, chunk_events_ - before, timeout);
    if (!poll) {
      failure_ = poll.error();
      if (chunk_->empty()) return std::unexpected(*failure_);
      break;
    }
    step.drain_reached = poll->drain_reached;
    step.ended = poll->ended;
    if (chunk_->size() == before) break;
    timeout = std::chrono::nanoseconds::zero();
  }
  if (!chunk_->empty()) step.chunk = Chunk{.seq = next_seq_++, .events = std::exchange(chunk_, {})};
  return step;
}

}  // namespace memtrack::pipeline
