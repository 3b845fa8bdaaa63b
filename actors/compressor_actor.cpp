#include "actors/compressor_actor.h"

#include <utility>

namespace memtrack::actors {

void CompressorState::init(caf::event_based_actor* self, CaptureGraph* graph, CompressorSeat* seat) {
  self_ = self;
  graph_ = graph;
  seat_ = seat;
}

void CompressorState::run() {
  while (!finished_ && push_held()) {
    pipeline::Batch batch;
    switch (seat_->input.try_pop(batch)) {
      case BatchQueue::Pop::kItem:
        if (!compress(batch)) return finish();
        break;
      case BatchQueue::Pop::kDrained:
        return finish();
      case BatchQueue::Pop::kEmpty:
        if (seat_->input.await_work()) return;
    }
  }
}

bool CompressorState::compress(const pipeline::Batch& batch) {
  return graph_->run_step(seat_->watch, batch.seq, [&]() -> Result<void> {
    auto frame = seat_->stage.compress(batch);
    if (!frame) return std::unexpected(std::move(frame.error()));
    held_ = std::move(*frame);
    return {};
  });
}

/// True if nothing is held any more. The queue can be full only for a while: the writer takes frames in any order.
bool CompressorState::push_held() {
  while (held_) {
    switch (seat_->output.try_push(*held_, pipeline::held_bytes(*held_))) {
      case FrameQueue::Push::kAccepted:
        held_.reset();
        break;
      case FrameQueue::Push::kClosed:
        finish();
        return false;
      case FrameQueue::Push::kFull:
        graph_->live.queue_full.fetch_add(1, std::memory_order_relaxed);
        if (seat_->output.await_room()) return false;
    }
  }
  return true;
}

void CompressorState::finish() {
  if (std::exchange(finished_, true)) return;
  held_.reset();
  if (graph_->compressors_left.fetch_sub(1, std::memory_order_acq_rel) == 1) graph_->frames.close();
  self_->quit();
}

caf::behavior CompressorState::behavior() {
  return {
      [this](work_atom) { run(); },
      [this](room_atom) { run(); },
  };
}

caf::behavior compressor_actor(caf::stateful_actor<CompressorState>* self, CaptureGraph* graph, CompressorSeat* seat) {
  self->state.init(self, graph, seat);
  return self->state.behavior();
}

}  // namespace memtrack::actors
