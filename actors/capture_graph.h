// CaptureGraph: the actors of one capture, and the doorbells that connect them to the queues.
#pragma once

#include <caf/actor_system.hpp>

#include "actors/capture_shared.h"
#include "actors/stage_actor.h"
#include "actors/system_config.h"

namespace memtrack::actors {

/// An actor system of its own a capture (under a millisecond to start), so that its end is the end of every thread.
///
/// Ownership: `shared` must outlive it. Threads: the creator's makes and destroys it; any may send to the team.
/// Destruction ends the actors and waits for their threads, for ever where a stage is stuck. Throws std::system_error
/// where threads can't be made.
class CaptureGraph {
 public:
  explicit CaptureGraph(CaptureShared& shared);
  CaptureGraph(const CaptureGraph&) = delete;
  CaptureGraph& operator=(const CaptureGraph&) = delete;
  ~CaptureGraph();

  [[nodiscard]] const Team& team() const { return team_; }

 private:
  void spawn_stages();
  void connect_doorbells();
  void end_actors();

  CaptureShared& shared_;
  SystemConfig config_;
  caf::actor_system system_;  // its destructor joins all threads
  Team team_;                 // goes before that
};

}  // namespace memtrack::actors
