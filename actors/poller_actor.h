// PollerActor: drives the Poller; the one thread that talks to the source.
#pragma once

#include <optional>
#include <vector>

#include <caf/behavior.hpp>
#include <caf/response_promise.hpp>

#include "actors/stage_actor.h"

namespace memtrack::actors {

/// Polls from `start` on; pauses while its chunk finds no room, which is how back-pressure reaches the source. Stops
/// when the source has ended and all is handed on. `drain` and `enable` are answered between polls, also while it
/// pauses.
class PollerActor final : public StageActor {
 public:
  PollerActor(caf::actor_config& config, CaptureShared& shared, const Team& team);
  const char* name() const override { return "poller"; }

 private:
  caf::behavior make_behavior() override;
  Result<Next> step() override;
  void release() override;

  Result<Next> poll();
  Next push();
  void shut_down();
  void begin_drain();
  void pass_drains();
  void publish_losses();
  Answer set_enabled(bool enabled);

  std::optional<pipeline::Chunk> chunk_;  // polled, not yet handed on
  bool started_ = false;
  bool ended_ = false;     // the source has
  bool discards_ = false;  // the batcher has stopped after a failure; the source is only seen to its end
  StageWatch::Clock::time_point losses_published_{};
  // One drain is under way in the source at a time; who asks meanwhile gets the next one.
  std::vector<caf::response_promise> drains_under_way_;
  std::vector<caf::response_promise> drains_waiting_;
};

}  // namespace memtrack::actors
