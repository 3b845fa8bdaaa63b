#include "actors/step_actor.h"

#include <string>
#include <utility>

#include <caf/all.hpp>

#include "actors/messages.h"

namespace memtrack::actors {

StepActor::StepActor(caf::actor_config& config, StageWatch& watch) : OrderedMailbox(config), watch_(watch) {
  set_default_handler(caf::drop);
  set_exception_handler([this](std::exception_ptr& thrown) -> caf::error {
    handle_exception(thrown);
    return caf::exit_reason::unhandled_exception;
  });
}

caf::message_handler StepActor::step_behavior() {
  return {
      [this](work_atom) { wake(); },
      [this](work_atom, own_step) {
        step_sent_ = false;
        run_step();
      },
      [this](room_atom) { wake(); },
      [](ping_atom) { return ping_atom::value; },
  };
}

void StepActor::wake() {
  if (!step_sent_) run_step();
}

void StepActor::run_step() {
  if (stopped_) return;
  Result<Next> next = Next::kStop;
  {
    const auto in_step = watch_.enter();
    next = step();
  }
  if (!next) {
    fail(std::move(next.error()));
  } else if (*next == Next::kStop) {
    stopped_ = true;
    quit();
  } else if (*next == Next::kAgain) {
    step_sent_ = true;
    send(this, work_atom::value, own_step::value);
  }
}

void StepActor::fail(Error error) {
  report(std::move(error));
  stopped_ = true;
  quit();
}

/// Here exceptions stop: the stage's own code, a hook or a source may throw anything.
void StepActor::handle_exception(const std::exception_ptr& thrown) {
  std::string what = "an exception of unknown type";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& exception) {
    what = exception.what();
  } catch (...) {  // nothing to read from it: `what` says so
  }
  fail(Error{.code = ErrorCode::kStageFailed, .message = "the " + std::string(name()) + " failed: " + what});
}

void StepActor::on_exit() {
  if (!stopped_) {
    fail(Error{.code = ErrorCode::kStageFailed, .message = "the " + std::string(name()) + " was ended from outside"});
  }
  release();
  watch_.stop();
}

}  // namespace memtrack::actors
