// The actor around one Compressor of the pool: batches in, frames out, in whatever order they are done.
#pragma once

#include <optional>

#include <caf/all.hpp>

#include "actors/capture_graph.h"
#include "actors/messages.h"

namespace memtrack::actors {

class CompressorState {
 public:
  void init(caf::event_based_actor* self, CaptureGraph* graph, CompressorSeat* seat);
  caf::behavior behavior();

 private:
  void run();
  bool push_held();
  bool compress(const pipeline::Batch& batch);
  void finish();

  caf::event_based_actor* self_ = nullptr;
  CaptureGraph* graph_ = nullptr;
  CompressorSeat* seat_ = nullptr;
  std::optional<pipeline::Frame> held_;  // compressed, not yet accepted by the queue
  bool finished_ = false;
};

caf::behavior compressor_actor(caf::stateful_actor<CompressorState>* self, CaptureGraph* graph, CompressorSeat* seat);

}  // namespace memtrack::actors
