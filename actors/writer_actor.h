// The actor around ArtifactWriter: takes every frame that comes, so that no compressor ever waits for another.
#pragma once

#include <deque>

#include <caf/all.hpp>

#include "actors/capture_graph.h"
#include "actors/messages.h"

namespace memtrack::actors {

class WriterState {
 public:
  void init(caf::event_based_actor* self, CaptureGraph* graph);
  caf::behavior behavior();

 private:
  struct Drain {
    std::uint64_t ticket;
    std::uint64_t upto_batch;  // batches below this number are part of it
  };

  void run();
  bool write(pipeline::Frame frame);
  bool answer_drains();
  void finish();

  caf::event_based_actor* self_ = nullptr;
  CaptureGraph* graph_ = nullptr;
  std::deque<Drain> drains_;
};

caf::behavior writer_actor(caf::stateful_actor<WriterState>* self, CaptureGraph* graph);

}  // namespace memtrack::actors
