// The supervisor: knows when all stages have ended, stops the source after a failure, answers stats and ping.
#pragma once

#include <vector>

#include <caf/all.hpp>

#include "actors/capture_graph.h"
#include "actors/messages.h"

namespace memtrack::actors {

struct SupervisorState {
  std::size_t stages_left = 0;
};

/// Watches `stages`, the poller first. Lives until it is sent an exit.
caf::behavior supervisor(caf::stateful_actor<SupervisorState>* self, CaptureGraph* graph,
                         std::vector<caf::actor> stages);

}  // namespace memtrack::actors
