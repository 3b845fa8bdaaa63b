#include "actors/writer_actor.h"

#include <utility>

namespace memtrack::actors {

void WriterState::init(caf::event_based_actor* self, CaptureGraph* graph) {
  self_ = self;
  graph_ = graph;
}

void WriterState::run() {
  for (;;) {
    if (!answer_drains()) return self_->quit();
    pipeline::Frame frame;
    switch (graph_->writer_input.try_pop(frame)) {
      case FrameQueue::Pop::kItem:
        if (!write(std::move(frame))) return self_->quit();
        break;
      case FrameQueue::Pop::kDrained:
        finish();
        return self_->quit();
      case FrameQueue::Pop::kEmpty:
        if (graph_->writer_input.await_work()) return;
    }
  }
}

bool WriterState::write(pipeline::Frame frame) {
  const bool fine =
      graph_->run_step(graph_->writer_watch, frame.seq, [&] { return graph_->writer.add(std::move(frame)); });
  graph_->window.advance(graph_->writer.written_seq());
  graph_->window_bell.ring();
  graph_->publish_totals(graph_->writer.totals());
  return fine;
}

bool WriterState::answer_drains() {
  while (!drains_.empty() && drains_.front().upto_batch <= graph_->writer.written_seq()) {
    const StageWatch::Step step(graph_->writer_watch);
    if (auto synced = graph_->writer.sync(); !synced) {
      graph_->fail(std::move(synced.error()));
      return false;
    }
    graph_->announce([&] { graph_->drained_ticket = drains_.front().ticket; });
    drains_.pop_front();
  }
  return true;
}

/// All stages in front have ended. After a failure the `.part` stays as it is.
void WriterState::finish() {
  if (graph_->failed()) return;
  graph_->run_step(graph_->writer_watch, graph_->writer.written_seq(), [&]() -> Result<void> {
    auto totals = graph_->writer.finish(graph_->counters().losses);
    if (!totals) return std::unexpected(std::move(totals.error()));
    graph_->publish_totals(*totals);
    graph_->announce([&] { graph_->path = totals->path; });
    return {};
  });
}

caf::behavior WriterState::behavior() {
  return {
      [this](work_atom) { run(); },
      [this](drain_atom, std::uint64_t ticket, std::uint64_t upto_batch) {
        drains_.push_back({.ticket = ticket, .upto_batch = upto_batch});
        run();
      },
  };
}

caf::behavior writer_actor(caf::stateful_actor<WriterState>* self, CaptureGraph* graph) {
  self->state.init(self, graph);
  return self->state.behavior();
}

}  // namespace memtrack::actors
