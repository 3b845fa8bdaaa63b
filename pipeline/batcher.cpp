#include "pipeline/batcher.h"

#include <cassert>
#include <utility>

namespace memtrack::pipeline {

Batcher::Batcher(const BatchOptions& options) : options_(options) {}

void Batcher::add(Chunk chunk, Clock::time_point now) {
  if (!chunk.events || chunk.events->empty()) return;
  if (pending_events_ == 0) oldest_ = now;
  newest_ = now;
  const EventBatch& events = *chunk.events;
  pending_events_ += events.size();
  pending_bytes_ += events.used_bytes();
  if (merge(events)) return;
  slices_.push_back(
      Slice{.events = std::move(chunk.events), .begin = 0, .end = static_cast<std::uint32_t>(events.size())});
}

/// Copies a small chunk behind the last one where that has room and is ours alone. So of any two neighbours one is more
/// than half full of events or payloads, and a batch of a slow source holds few buffers.
bool Batcher::merge(const EventBatch& events) {
  if (slices_.empty()) return false;
  Slice& last = slices_.back();
  EventBatch& into = *last.events;
  if (events.size() > events.capacity() / 2 || events.size() > into.room()) return false;
  if (into.payload_bytes() + events.payload_bytes() > kChunkPayloadBytes) return false;
  // A chunk that was cut is shared with the batch in front until that one is done with it.
  if (last.events.use_count() != 1) return false;
  assert(last.end == into.size());
  for (std::size_t i = 0; i < events.size(); ++i) into.append_from(events, i);
  last.end = static_cast<std::uint32_t>(into.size());
  return true;
}

std::optional<Batch> Batcher::next_full() {
  if (pending_events_ >= options_.events) return cut(options_.events);
  if (pending_events_ > 0 && pending_bytes_ >= options_.bytes) return cut(pending_events_);
  return std::nullopt;
}

std::optional<Batch> Batcher::flush() {
  if (auto full = next_full()) return full;
  if (pending_events_ == 0) return std::nullopt;
  return cut(pending_events_);
}

std::optional<Batch> Batcher::flush_if_older(Clock::time_point now) {
  if (pending_events_ == 0 || now - oldest_ < options_.flush_interval) return std::nullopt;
  return flush();
}

/// Takes the first `events` pending events as a batch. Precondition: 0 < events <= pending_events_.
Batch Batcher::cut(std::uint64_t events) {
  Batch batch{.seq = next_seq_++, .event_count = events, .slices = {}};
  std::size_t whole = 0;
  std::uint64_t left = events;
  for (; whole < slices_.size(); ++whole) {
    const std::uint64_t size = slices_[whole].end - slices_[whole].begin;
    if (size > left) break;
    left -= size;
    pending_bytes_ -= slices_[whole].events->used_bytes();
  }
  const auto end = slices_.begin() + static_cast<std::ptrdiff_t>(whole);
  batch.slices.reserve(whole + 1);
  batch.slices.assign(std::make_move_iterator(slices_.begin()), std::make_move_iterator(end));
  slices_.erase(slices_.begin(), end);
  if (left > 0) {
    Slice& first = slices_.front();
    const auto middle = first.begin + static_cast<std::uint32_t>(left);
    batch.slices.push_back(Slice{.events = first.events, .begin = first.begin, .end = middle});
    first.begin = middle;
  }
  pending_events_ -= events;
  oldest_ = newest_;  // what is left came with the last chunk
  return batch;
}

}  // namespace memtrack::pipeline
