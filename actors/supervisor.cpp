#include "actors/supervisor.h"

namespace memtrack::actors {

caf::behavior supervisor(caf::stateful_actor<SupervisorState>* self, CaptureGraph* graph,
                         std::vector<caf::actor> stages) {
  for (const caf::actor& stage : stages) self->monitor(stage);
  self->state.stages_left = stages.size();
  self->set_down_handler([graph, self](const caf::down_msg&) {
    if (--self->state.stages_left == 0) graph->announce([graph] { graph->over = true; });
  });
  const caf::actor poller = stages.front();
  return {
      // The queues are closed already; the target is let go here even where the poller has nothing to push.
      [self, graph, poller](failed_atom) {
        graph->source->request_stop();
        self->send(poller, shutdown_atom::value);
      },
      [graph](stats_atom) { return graph->counters(); },
      [](ping_atom) { return ping_atom::value; },
  };
}

}  // namespace memtrack::actors
