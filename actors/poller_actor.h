// The actor around Poller: polls the source, hands chunks to the batcher, obeys start, drain, shutdown, enable,
// disable.
#pragma once

#include <deque>
#include <optional>

#include <caf/all.hpp>

#include "actors/capture_graph.h"
#include "actors/messages.h"

namespace memtrack::actors {

class PollerState {
 public:
  void init(caf::event_based_actor* self, CaptureGraph* graph, caf::actor batcher);
  caf::behavior behavior();

 private:
  void step();
  bool push_held();
  void after_push();
  void begin_next_drain();
  void end();
  void poll_again();
  Result<void> start();

  caf::event_based_actor* self_ = nullptr;
  CaptureGraph* graph_ = nullptr;
  caf::actor batcher_;
  std::optional<pipeline::Chunk> held_;  // polled, not yet accepted by the queue
  std::deque<std::uint64_t> tickets_;    // drains asked for, the first one under way
  bool started_ = false;
  bool drain_reached_ = false;
  bool ended_ = false;
};

caf::behavior poller_actor(caf::stateful_actor<PollerState>* self, CaptureGraph* graph, caf::actor batcher);

}  // namespace memtrack::actors
