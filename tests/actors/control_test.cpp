// The control plane's small words, spoken to the actors themselves.
#include <caf/all.hpp>

#include "actors/capture_graph.h"
#include "tests/actors/actors_support.h"

namespace memtrack::actors {

TEST_CASE("every actor of a capture answers ping and stats") {
  TemporaryFolder folder;
  pipeline::CaptureOptions options;
  options.write.directory = folder.path();
  options.compress.workers = 2;
  const auto shared =
      value_of(CaptureShared::create(std::make_unique<ScriptedSource>(std::make_shared<Script>()), options, {}));
  shared->counters.add_chunk(5);
  caf::actor_system_config config;
  caf::actor_system system(config);
  const CaptureGraph graph(*shared);
  const Team& team = graph.team();
  std::vector<caf::actor> actors = {team.supervisor, team.poller, team.batcher, team.writer};
  actors.insert(actors.end(), team.compressors.begin(), team.compressors.end());
  REQUIRE(actors.size() == 6);
  caf::scoped_actor self(system);
  for (const caf::actor& actor : actors) {
    bool alive = false;
    self->request(actor, caf::infinite, ping_atom::value)
        .receive([&](ping_atom) { alive = true; }, [](const caf::error&) {});
    CHECK(alive);
    std::uint64_t polled = 0;
    self->request(actor, caf::infinite, stats_atom::value)
        .receive([&](const pipeline::CaptureCounters& counters) { polled = counters.events_polled; },
                 [](const caf::error&) {});
    CHECK(polled == 5);
  }
}

}  // namespace memtrack::actors
