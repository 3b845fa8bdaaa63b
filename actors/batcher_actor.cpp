#include "actors/batcher_actor.h"

#include <algorithm>
#include <utility>

namespace memtrack::actors {

void BatcherState::init(caf::event_based_actor* self, CaptureGraph* graph, caf::actor writer) {
  self_ = self;
  graph_ = graph;
  writer_ = std::move(writer);
}

/// Works until there is nothing to do or no room for the result; a bell calls again.
void BatcherState::run() {
  for (;;) {
    if (!drains_.empty() && drains_.front().upto_chunk <= chunks_taken_) flush_ = true;
    const Output output = push_output();
    if (output == Output::kClosed || (output == Output::kDone && drained_)) return finish();
    if (output == Output::kWaiting) return;
    pass_drains();
    pipeline::Chunk chunk;
    switch (graph_->batcher_input.try_pop(chunk)) {
      case ChunkQueue::Pop::kItem:
        if (!take(std::move(chunk))) return finish();
        break;
      case ChunkQueue::Pop::kDrained:
        drained_ = flush_ = true;
        break;
      case ChunkQueue::Pop::kEmpty:
        if (graph_->batcher_input.await_work()) return schedule_tick();
    }
  }
}

bool BatcherState::take(pipeline::Chunk chunk) {
  chunks_taken_ = chunk.seq + 1;
  return graph_->run_step(graph_->batcher_watch, chunk.seq, [&]() -> Result<void> {
    graph_->batcher.add(std::move(chunk), pipeline::Batcher::Clock::now());
    return {};
  });
}

/// Pushes every batch that is ready, and the partial one where flush_ says so.
BatcherState::Output BatcherState::push_output() {
  for (;;) {
    if (!held_) held_ = flush_ ? graph_->batcher.flush() : graph_->batcher.next_full();
    if (!held_) {
      flush_ = false;
      return Output::kDone;
    }
    if (!wait_for_window()) return graph_->failed() ? Output::kClosed : Output::kWaiting;
    switch (graph_->batcher_output.try_push(*held_, pipeline::held_bytes(*held_))) {
      case BatchQueue::Push::kAccepted:
        held_.reset();
        graph_->live.batches.fetch_add(1, std::memory_order_relaxed);
        break;
      case BatchQueue::Push::kClosed:
        return Output::kClosed;
      case BatchQueue::Push::kFull:
        graph_->live.queue_full.fetch_add(1, std::memory_order_relaxed);
        if (graph_->batcher_output.await_room()) return Output::kWaiting;
    }
  }
}

/// False: the batch's number is too far ahead of the writer, whose progress rings the bell.
bool BatcherState::wait_for_window() {
  if (graph_->window.admits(held_->seq)) return true;
  graph_->live.queue_full.fetch_add(1, std::memory_order_relaxed);
  graph_->window_bell.arm();
  if (!graph_->window.admits(held_->seq)) return false;
  graph_->window_bell.disarm();
  return true;
}

/// All that the drain was about is pushed: the writer answers when it has written every batch cut so far.
void BatcherState::pass_drains() {
  while (!drains_.empty() && drains_.front().upto_chunk <= chunks_taken_) {
    self_->send(writer_, drain_atom::value, drains_.front().ticket, graph_->batcher.next_seq());
    drains_.pop_front();
  }
}

void BatcherState::schedule_tick() {
  if (tick_due_ || graph_->batcher.pending_events() == 0) return;
  tick_due_ = true;
  // Four looks an interval: a partial batch waits at most a quarter longer than asked.
  const auto period =
      std::max<std::chrono::nanoseconds>(graph_->options.batch.flush_interval / 4, std::chrono::milliseconds(1));
  self_->delayed_send(self_, period, tick_atom::value);
}

void BatcherState::finish() {
  graph_->batches.close();
  self_->quit();
}

caf::behavior BatcherState::behavior() {
  return {
      [this](work_atom) { run(); },
      [this](room_atom) { run(); },
      [this](tick_atom) {
        tick_due_ = false;
        if (!held_) held_ = graph_->batcher.flush_if_older(pipeline::Batcher::Clock::now());
        run();
      },
      [this](drain_atom, std::uint64_t ticket, std::uint64_t upto_chunk) {
        drains_.push_back({.ticket = ticket, .upto_chunk = upto_chunk});
        run();
      },
  };
}

caf::behavior batcher_actor(caf::stateful_actor<BatcherState>* self, CaptureGraph* graph, caf::actor writer) {
  self->state.init(self, graph, std::move(writer));
  return self->state.behavior();
}

}  // namespace memtrack::actors
