// StageActor: what the actors of all stages have in common.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include <caf/actor.hpp>
#include <caf/message_handler.hpp>

#include "actors/capture_shared.h"
#include "actors/messages.h"
#include "actors/ordered_mailbox.h"

namespace memtrack::actors {

/// The actors of a capture; filled before the first message is sent, and owned by the CaptureGraph alone.
struct Team {
  caf::actor supervisor;
  caf::actor poller;
  caf::actor batcher;
  std::vector<caf::actor> compressors;
  caf::actor writer;
};

/// Runs a stage on a thread of its own, one step a message: so control messages come in between, however busy the
/// stage is, and a stage that waits takes no time.
///
/// A step takes one item or hands one on, and says what is next. kWait: a doorbell is armed, or a message will come
/// that changes something; any message may lead to a step, so a step looks at everything anew. Failure: an error from a
/// step, or an exception from anywhere in the actor, is the stage's failure; it stops. However the actor ends, its
/// output is closed and the supervisor hears of a failure.
class StageActor : public OrderedMailbox {
 public:
  void on_exit() final;

 protected:
  enum class Next { kAgain, kWait, kStop };

  StageActor(caf::actor_config& config, CaptureShared& shared, const Team& team, StageId stage,
             std::uint32_t worker = 0);

  [[nodiscard]] virtual Result<Next> step() = 0;
  /// At the actor's end, whatever the reason: close the output, drop items and promises (a promise holds its actor).
  virtual void release() = 0;

  /// Handlers of work, room, stats and ping.
  [[nodiscard]] caf::message_handler common_behavior();
  /// Something may have changed: makes a step, where none is on its way already. From message handlers only.
  void wake();
  void fail(Error error);

  /// kWait, counted, where the producer has to wait for room; else kAgain. After kFull.
  template <class Producer>
  [[nodiscard]] Next wait_for_room(Producer& producer) {
    if (!producer.await_room()) return Next::kAgain;
    shared_.counters.add_queue_full();
    return Next::kWait;
  }

  CaptureShared& shared_;
  const Team& team_;
  StageWatch& watch_;

 private:
  void run_step();
  void handle_exception(const std::exception_ptr& thrown);

  const StageId stage_;
  bool step_sent_ = false;  // a `work` of its own is in the mailbox
  bool stopped_ = false;    // by its own decision
};

}  // namespace memtrack::actors
