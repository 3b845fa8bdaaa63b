#include "actors/supervisor.h"

#include <utility>

#include <caf/all.hpp>

namespace memtrack::actors {

Supervisor::Supervisor(caf::actor_config& config, CaptureShared& shared, const Team& team)
    : OrderedMailbox(config), shared_(shared), team_(team) {
  set_default_handler(caf::drop);
  set_down_handler([this](caf::down_msg&) { note_stage_down(); });
}

caf::behavior Supervisor::make_behavior() {
  return {
      [this](start_atom) {
        watch_stages();
        send(team_.poller, start_atom::value);
      },
      [this](shutdown_atom) {
        watch_stages();
        send(team_.poller, shutdown_atom::value);
      },
      [this](shutdown_atom, const pipeline::ArtifactWriter::Totals& totals) { written_ = totals; },
      [this](drain_atom, std::uint64_t ticket) { ask_poller(drain_atom::value, ticket); },
      [this](enable_atom, std::uint64_t ticket) { ask_poller(enable_atom::value, ticket); },
      [this](disable_atom, std::uint64_t ticket) { ask_poller(disable_atom::value, ticket); },
      [this](failed_atom, StageId stage) { close_queues_into(stage); },
      [this](ping_atom, std::uint64_t ticket) { shared_.board.answer(ticket, {}); },
      [](ping_atom) { return ping_atom::value; },
      [this](stats_atom) { return shared_.counters.snapshot(); },
  };
}

/// From the first of start and shutdown on; the team is complete by then.
void Supervisor::watch_stages() {
  if (watches_) return;
  watches_ = true;
  for (const caf::actor* stage : {&team_.poller, &team_.batcher, &team_.writer}) monitor(*stage);
  for (const caf::actor& compressor : team_.compressors) monitor(compressor);
  stages_running_ = 3 + team_.compressors.size();
}

/// Where no stage is left to answer, the end of the capture is on its way to the board, and the caller sees that.
template <class Request>
void Supervisor::ask_poller(Request atom, std::uint64_t ticket) {
  request(team_.poller, caf::infinite, atom)
      .then([this, ticket](Answer& answer) { shared_.board.answer(ticket, std::move(answer)); },
            [](const caf::error&) {});
}

/// Stops everything upstream of a failed stage. What is downstream of it gets to its end by itself, when the failed
/// stage's output, which closes with it, is drained.
void Supervisor::close_queues_into(StageId failed) {
  if (failed >= StageId::kBatcher) shared_.chunks.queue.close();
  if (failed >= StageId::kCompressor) shared_.batches.queue.close();
  if (failed >= StageId::kWriter) shared_.frames.queue.close();
  shared_.window_bell.ring();
  shared_.stop_source();
}

void Supervisor::note_stage_down() {
  if (--stages_running_ > 0) return;
  CaptureEnd end{.written = written_};
  if (const Error* error = shared_.first_error.get()) end.error = *error;
  shared_.board.finish(std::move(end));
}

}  // namespace memtrack::actors
