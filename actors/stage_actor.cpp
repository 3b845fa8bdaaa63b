#include "actors/stage_actor.h"

#include <utility>

#include <caf/all.hpp>

namespace memtrack::actors {

StageActor::StageActor(caf::actor_config& config, CaptureShared& shared, const Team& team, StageId stage,
                       std::uint32_t worker)
    : StepActor(config, shared.watch(stage, worker)), shared_(shared), team_(team), stage_(stage) {}

caf::message_handler StageActor::common_behavior() {
  return step_behavior().or_else([this](stats_atom) { return shared_.counters.snapshot(); });
}

void StageActor::report(Error error) {
  shared_.fail(stage_, std::move(error));
  caf::anon_send(team_.supervisor, failed_atom::value, stage_);
}

}  // namespace memtrack::actors
