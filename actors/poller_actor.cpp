#include "actors/poller_actor.h"

#include <utility>

namespace memtrack::actors {
namespace {

using poll_atom = caf::atom_constant<caf::atom("poll")>;  // the poller to itself: control messages come in between

}  // namespace

void PollerState::init(caf::event_based_actor* self, CaptureGraph* graph, caf::actor batcher) {
  self_ = self;
  graph_ = graph;
  batcher_ = std::move(batcher);
}

Result<void> PollerState::start() {
  Result<void> started = {};
  graph_->run_step(graph_->poller_watch, graph_->poller.next_seq(), [&] { return started = graph_->source->start(); });
  if (started && graph_->failed()) started = std::unexpected(*graph_->first_error.get());
  return started;
}

void PollerState::poll_again() {
  self_->send(self_, poll_atom::value);
}

void PollerState::step() {
  if (graph_->failed()) return end();
  pipeline::Poller::Step polled;
  const bool fine = graph_->run_step(graph_->poller_watch, graph_->poller.next_seq(), [&]() -> Result<void> {
    auto result = graph_->poller.step(graph_->options.poll_interval);
    if (!result) return std::unexpected(std::move(result.error()));
    polled = std::move(*result);
    graph_->publish_losses(graph_->source->losses());
    return {};
  });
  if (!fine) return end();
  drain_reached_ = drain_reached_ || polled.drain_reached;
  ended_ = ended_ || polled.ended;
  held_ = std::move(polled.chunk);
  if (push_held()) after_push();
}

/// True if nothing is held any more; else the room bell (or the end) calls again.
bool PollerState::push_held() {
  if (!held_) return true;
  const std::uint64_t events = held_->events->size();
  for (;;) {
    switch (graph_->poller_output.try_push(*held_, pipeline::held_bytes(*held_))) {
      case ChunkQueue::Push::kAccepted:
        held_.reset();
        graph_->live.events_polled.fetch_add(events, std::memory_order_relaxed);
        graph_->live.chunks.fetch_add(1, std::memory_order_relaxed);
        return true;
      case ChunkQueue::Push::kClosed:
        held_.reset();
        end();
        return false;
      case ChunkQueue::Push::kFull:
        graph_->live.queue_full.fetch_add(1, std::memory_order_relaxed);
        if (graph_->poller_output.await_room()) return false;
    }
  }
}

void PollerState::after_push() {
  if (drain_reached_ && !tickets_.empty()) {
    drain_reached_ = false;
    self_->send(batcher_, drain_atom::value, tickets_.front(), graph_->poller.next_seq());
    tickets_.pop_front();
    begin_next_drain();
  }
  if (ended_) return end();
  poll_again();
}

/// A drain that was asked for while another was under way gets a mark of its own, later than the first one's.
void PollerState::begin_next_drain() {
  if (!tickets_.empty()) graph_->source->begin_drain();
}

/// The last thing: everything polled is in the queue. What the summary needs of the source is taken while it is ours.
void PollerState::end() {
  if (graph_->failed()) graph_->source->request_stop();
  graph_->publish_losses(graph_->source->losses());
  graph_->announce([this] {
    if (!graph_->ending_since) graph_->ending_since = CaptureGraph::Clock::now();
    graph_->target_exit = graph_->source->target_exit();
    if (ended_) graph_->notes = graph_->source->notes();
  });
  graph_->chunks.close();
  self_->quit();
}

caf::behavior PollerState::behavior() {
  return {
      [this](start_atom) {
        Reply reply{.result = start()};
        started_ = true;
        poll_again();
        return reply;
      },
      [this](poll_atom) {
        if (!held_) step();
      },
      [this](room_atom) {
        if (held_ && push_held()) after_push();
      },
      [this](drain_atom, std::uint64_t ticket) {
        tickets_.push_back(ticket);
        if (tickets_.size() == 1) begin_next_drain();
      },
      [this](shutdown_atom) {
        graph_->source->request_stop();
        if (!started_) end();
      },
      [this](enable_atom) { return Reply{.result = graph_->source->set_enabled(true)}; },
      [this](disable_atom) { return Reply{.result = graph_->source->set_enabled(false)}; },
  };
}

caf::behavior poller_actor(caf::stateful_actor<PollerState>* self, CaptureGraph* graph, caf::actor batcher) {
  self->state.init(self, graph, std::move(batcher));
  return self->state.behavior();
}

}  // namespace memtrack::actors
