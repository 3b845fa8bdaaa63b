// StageActor: what the actors of the stages of a capture have in common.
#pragma once

#include <cstdint>
#include <vector>

#include <caf/actor.hpp>
#include <caf/message_handler.hpp>

#include "actors/capture_shared.h"
#include "actors/messages.h"
#include "actors/step_actor.h"

namespace memtrack::actors {

/// The actors of a capture; filled before the first message is sent, and owned by the CaptureGraph alone.
struct Team {
  caf::actor supervisor;
  caf::actor poller;
  caf::actor batcher;
  std::vector<caf::actor> compressors;
  caf::actor writer;
};

/// A stage of a capture. However the actor ends, its output is closed and the supervisor hears of a failure.
class StageActor : public StepActor {
 protected:
  StageActor(caf::actor_config& config, CaptureShared& shared, const Team& team, StageId stage,
             std::uint32_t worker = 0);

  /// Handlers of work, room, stats and ping.
  [[nodiscard]] caf::message_handler common_behavior();

  /// kWait, counted, where the producer has to wait for room; else kAgain. After kFull.
  template <class Producer>
  [[nodiscard]] Next wait_for_room(Producer& producer) {
    if (!producer.await_room()) return Next::kAgain;
    shared_.counters.add_queue_full();
    return Next::kWait;
  }

  CaptureShared& shared_;
  const Team& team_;

 private:
  void report(Error error) final;

  const StageId stage_;
};

}  // namespace memtrack::actors
