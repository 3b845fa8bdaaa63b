#include "actors/capture_graph.h"

#include <functional>
#include <system_error>

#include <caf/all.hpp>

#include "actors/batcher_actor.h"
#include "actors/compressor_actor.h"
#include "actors/ordered_mailbox.h"
#include "actors/poller_actor.h"
#include "actors/supervisor.h"
#include "actors/writer_actor.h"

namespace memtrack::actors {

CaptureGraph::CaptureGraph(CaptureShared& shared) : shared_(shared), system_(config_) {
  try {
    spawn_stages();
  } catch (const std::system_error&) {
    end_actors();
    throw;
  }
  connect_doorbells();
}

CaptureGraph::~CaptureGraph() {
  end_actors();
}

/// Those that have stopped by themselves don't mind.
void CaptureGraph::end_actors() {
  for (const caf::actor* actor : {&team_.poller, &team_.batcher, &team_.writer, &team_.supervisor}) {
    if (*actor) caf::anon_send_exit(*actor, caf::exit_reason::user_shutdown);
  }
  for (const caf::actor& compressor : team_.compressors) {
    caf::anon_send_exit(compressor, caf::exit_reason::user_shutdown);
  }
  system_.await_all_actors_done();  // so team_, which they use, goes after them
  note_actors_ended();
}

void CaptureGraph::spawn_stages() {
  auto shared = std::ref(shared_);
  auto team = std::cref(team_);
  team_.supervisor = system_.spawn<Supervisor>(shared, team);
  team_.writer = system_.spawn<WriterActor, caf::detached>(shared, team);
  for (std::uint32_t i = 0; i < shared_.options.compress.workers; ++i) {
    team_.compressors.push_back(system_.spawn<CompressorActor, caf::detached>(shared, team, i));
  }
  team_.batcher = system_.spawn<BatcherActor, caf::detached>(shared, team);
  team_.poller = system_.spawn<PollerActor, caf::detached>(shared, team);
}

/// The bells refer to team_, they own nothing: no cycle from an actor through a queue to itself. None rings after the
/// last stage has stopped.
void CaptureGraph::connect_doorbells() {
  const auto work = [](const caf::actor& to) { return [&to] { caf::anon_send(to, work_atom::value); }; };
  const auto room = [](const caf::actor& to) { return [&to] { caf::anon_send(to, room_atom::value); }; };
  shared_.chunks.producers[0].on_room(room(team_.poller));
  shared_.chunks.consumers[0].on_work(work(team_.batcher));
  shared_.batches.producers[0].on_room(room(team_.batcher));
  shared_.window_bell.on_ring(room(team_.batcher));
  for (std::size_t i = 0; i < team_.compressors.size(); ++i) {
    shared_.batches.consumers[i].on_work(work(team_.compressors[i]));
    shared_.frames.producers[i].on_room(room(team_.compressors[i]));
  }
  shared_.frames.consumers[0].on_work(work(team_.writer));
}

}  // namespace memtrack::actors
