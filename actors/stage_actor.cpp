#include "actors/stage_actor.h"

#include <string>
#include <utility>

#include <caf/all.hpp>

namespace memtrack::actors {

StageActor::StageActor(caf::actor_config& config, CaptureShared& shared, const Team& team, StageId stage,
                       std::uint32_t worker)
    : OrderedMailbox(config), shared_(shared), team_(team), watch_(shared.watch(stage, worker)), stage_(stage) {
  set_default_handler(caf::drop);
  set_exception_handler([this](std::exception_ptr& thrown) -> caf::error {
    handle_exception(thrown);
    return caf::exit_reason::unhandled_exception;
  });
}

caf::message_handler StageActor::common_behavior() {
  return {
      [this](work_atom) { wake(); },
      [this](work_atom, own_step) {
        step_sent_ = false;
        run_step();
      },
      [this](room_atom) { wake(); },
      [this](stats_atom) { return shared_.counters.snapshot(); },
      [](ping_atom) { return ping_atom::value; },
  };
}

void StageActor::wake() {
  if (!step_sent_) run_step();
}

void StageActor::run_step() {
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

void StageActor::fail(Error error) {
  shared_.fail(stage_, std::move(error));
  caf::anon_send(team_.supervisor, failed_atom::value, stage_);
  stopped_ = true;
  quit();
}

/// Here exceptions stop: the stage's own code, a hook or a source may throw anything.
void StageActor::handle_exception(const std::exception_ptr& thrown) {
  std::string what = "an exception of unknown type";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& exception) {
    what = exception.what();
  } catch (...) {  // nothing to read from it: `what` says so
  }
  fail(Error{.code = ErrorCode::kStageFailed, .message = "the " + std::string(to_string(stage_)) + " failed: " + what});
}

void StageActor::on_exit() {
  if (!stopped_) {
    fail(Error{.code = ErrorCode::kStageFailed,
               .message = "the " + std::string(to_string(stage_)) + " was ended from outside"});
  }
  release();
  watch_.stop();
}

}  // namespace memtrack::actors
