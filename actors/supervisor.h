// Supervisor: starts, watches and ends the stages; speaks for them to the caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <caf/behavior.hpp>

#include "actors/capture_shared.h"
#include "actors/messages.h"
#include "actors/ordered_mailbox.h"
#include "actors/stage_actor.h"

namespace memtrack::actors {

/// Takes the caller's messages (with a ticket where an answer is wanted on the board), passes them to the poller, and
/// puts the end on the board once every stage has stopped. Never blocks, so it answers `ping` whatever a stage does.
/// Runs on CAF's scheduler until the graph ends it.
class Supervisor final : public OrderedMailbox {
 public:
  Supervisor(caf::actor_config& config, CaptureShared& shared, const Team& team);
  const char* name() const override { return "supervisor"; }

 private:
  caf::behavior make_behavior() override;
  void watch_stages();
  template <class Request>
  void ask_poller(Request request, std::uint64_t ticket);
  void close_queues_into(StageId failed);
  void note_stage_down();

  CaptureShared& shared_;
  const Team& team_;
  bool watches_ = false;
  std::size_t stages_running_ = 0;
  pipeline::ArtifactWriter::Totals written_;
};

}  // namespace memtrack::actors
