#include "actors/read_graph.h"

#include <functional>
#include <system_error>

#include <caf/all.hpp>

#include "actors/messages.h"
#include "actors/ordered_mailbox.h"
#include "actors/read_stages.h"

namespace memtrack::actors {

ReadGraph::ReadGraph(ReadShared& shared) : shared_(shared), system_(config_) {
  try {
    spawn_stages();
  } catch (const std::system_error&) {
    end_actors();
    throw;
  }
  connect_doorbells();
}

ReadGraph::~ReadGraph() {
  end_actors();
}

/// Those that have stopped by themselves don't mind.
void ReadGraph::end_actors() {
  for (const caf::actor* actor : {&splitter_, &reassembler_}) {
    if (*actor) caf::anon_send_exit(*actor, caf::exit_reason::user_shutdown);
  }
  for (const caf::actor& decoder : decoders_) caf::anon_send_exit(decoder, caf::exit_reason::user_shutdown);
  system_.await_all_actors_done();
  note_actors_ended();
}

void ReadGraph::spawn_stages() {
  auto shared = std::ref(shared_);
  reassembler_ = system_.spawn<ReassemblerActor, caf::detached>(shared);
  for (std::uint32_t i = 0; i < shared_.decoders.size(); ++i) {
    decoders_.push_back(system_.spawn<DecoderActor, caf::detached>(shared, i));
  }
  splitter_ = system_.spawn<SplitterActor, caf::detached>(shared);
}

/// The bells refer to the handles here, they own nothing.
void ReadGraph::connect_doorbells() {
  const auto work = [](const caf::actor& to) { return [&to] { caf::anon_send(to, work_atom::value); }; };
  const auto room = [](const caf::actor& to) { return [&to] { caf::anon_send(to, room_atom::value); }; };
  shared_.jobs.producers[0].on_room(room(splitter_));
  shared_.window_bell.on_ring(room(splitter_));
  for (std::size_t i = 0; i < decoders_.size(); ++i) {
    shared_.jobs.consumers[i].on_work(work(decoders_[i]));
    shared_.parts[i].producers[0].on_room(room(decoders_[i]));
    shared_.parts[i].consumers[0].on_work(work(reassembler_));
  }
}

void ReadGraph::run() {
  caf::anon_send(splitter_, work_atom::value);
  shared_.finished.get_future().wait();
}

}  // namespace memtrack::actors
