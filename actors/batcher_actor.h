// The actor around Batcher: chunks in, batches out, at most as far ahead of the writer as the window admits.
#pragma once

#include <deque>
#include <optional>

#include <caf/all.hpp>

#include "actors/capture_graph.h"
#include "actors/messages.h"

namespace memtrack::actors {

class BatcherState {
 public:
  void init(caf::event_based_actor* self, CaptureGraph* graph, caf::actor writer);
  caf::behavior behavior();

 private:
  enum class Output { kDone, kWaiting, kClosed };
  struct Drain {
    std::uint64_t ticket;
    std::uint64_t upto_chunk;  // chunks below this number are part of it
  };

  void run();
  Output push_output();
  bool wait_for_window();
  bool take(pipeline::Chunk chunk);
  void pass_drains();
  void schedule_tick();
  void finish();

  caf::event_based_actor* self_ = nullptr;
  CaptureGraph* graph_ = nullptr;
  caf::actor writer_;
  std::optional<pipeline::Batch> held_;  // cut, not yet accepted by the queue
  std::deque<Drain> drains_;
  std::uint64_t chunks_taken_ = 0;
  bool flush_ = false;     // what is pending must go, full or not
  bool drained_ = false;   // the input has ended
  bool tick_due_ = false;  // a tick is under way
};

caf::behavior batcher_actor(caf::stateful_actor<BatcherState>* self, CaptureGraph* graph, caf::actor writer);

}  // namespace memtrack::actors
