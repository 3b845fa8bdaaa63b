// StepActor: what the actors of all stages, of captures and of readers, have in common.
#pragma once

#include <exception>

#include <caf/message_handler.hpp>

#include "actors/ordered_mailbox.h"
#include "actors/stage_watch.h"
#include "codec/error.h"

namespace memtrack::actors {

/// Runs a stage on a thread of its own, one step a message: so control messages come in between, however busy the
/// stage is, and a stage that waits takes no time.
///
/// A step takes one item or hands one on, and says what is next. kWait: a doorbell is armed, or a message will come
/// that changes something; any message may lead to a step, so a step looks at everything anew. Failure: an error from a
/// step, or an exception from anywhere in the actor, is the stage's failure; it stops. However the actor ends, its
/// failure is reported and what it holds is released.
class StepActor : public OrderedMailbox {
 public:
  void on_exit() final;

 protected:
  enum class Next { kAgain, kWait, kStop };

  StepActor(caf::actor_config& config, StageWatch& watch);

  [[nodiscard]] virtual Result<Next> step() = 0;
  /// At the actor's end, whatever the reason: close the output, drop items and promises (a promise holds its actor).
  virtual void release() = 0;
  /// Tells everybody of the stage's failure.
  virtual void report(Error error) = 0;

  /// Handlers of work, room and ping.
  [[nodiscard]] caf::message_handler step_behavior();
  /// Something may have changed: makes a step, where none is on its way already. From message handlers only.
  void wake();
  void fail(Error error);

  StageWatch& watch_;

 private:
  void run_step();
  void handle_exception(const std::exception_ptr& thrown);

  bool step_sent_ = false;  // a `work` of its own is in the mailbox
  bool stopped_ = false;    // by its own decision
};

}  // namespace memtrack::actors
