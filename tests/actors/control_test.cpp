// The control plane's small words, spoken to the actors themselves.
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/capture_graph.h"
#include "actors/ordered_mailbox.h"
#include "tests/actors/actors_support.h"

namespace memtrack::actors {

namespace {

/// Asks one actor for a ping and its counters, and ends. An actor of ours, because ThreadSanitizer is told what its
/// mailbox orders; that of caf::scoped_actor is out of its sight.
class Asker final : public OrderedMailbox {
 public:
  Asker(caf::actor_config& config, caf::actor asked, std::promise<pipeline::CaptureCounters> answer)
      : OrderedMailbox(config), asked_(std::move(asked)), answer_(std::move(answer)) {}

 private:
  caf::behavior make_behavior() override {
    const auto give_up = [this](const caf::error& error) {
      answer_.set_exception(std::make_exception_ptr(std::runtime_error(system().render(error))));
      quit();
    };
    request(asked_, caf::infinite, ping_atom::value)
        .then(
            [this, give_up](ping_atom) {
              request(asked_, caf::infinite, stats_atom::value)
                  .then(
                      [this](const pipeline::CaptureCounters& counters) {
                        answer_.set_value(counters);
                        quit();
                      },
                      give_up);
            },
            give_up);
    return {[](own_step) {}};  // an actor without a behaviour ends at once
  }

  caf::actor asked_;
  std::promise<pipeline::CaptureCounters> answer_;
};

}  // namespace

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
  for (const caf::actor& actor : actors) {
    std::promise<pipeline::CaptureCounters> answer;
    auto counters = answer.get_future();
    system.spawn<Asker>(actor, std::move(answer));
    CHECK(counters.get().events_polled == 5);
  }
  system.await_all_actors_done();
  note_actors_ended();
}

}  // namespace memtrack::actors
