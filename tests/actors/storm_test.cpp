#include <cstdlib>
#include <random>
#include <thread>

#include "tests/actors/actors_support.h"
#include "tests/support/seed.h"

namespace memtrack::actors {

// MEMTRACK_STORM_CYCLES=100000 makes it the long one.
TEST_CASE("B5, B6: pipelines that are started and stopped at random moments never hang") {
  const std::uint64_t seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const char* wanted = std::getenv("MEMTRACK_STORM_CYCLES");
  const long cycles = wanted == nullptr ? 300 : std::strtol(wanted, nullptr, 10);
  TemporaryFolder folder;
  for (long cycle = 0; cycle < cycles; ++cycle) {
    pipeline::CaptureOptions options;
    options.write.directory = folder.path();
    options.write.index = false;
    options.batch.events = 1 + static_cast<std::uint32_t>(random() % 50);
    options.queue.items = 1 + static_cast<std::uint32_t>(random() % 3);
    options.compress.workers = 1 + static_cast<std::uint32_t>(random() % 3);
    auto script = std::make_shared<Script>();
    auto pipe = value_of(CapturePipeline::create(std::make_unique<ScriptedSource>(script), options));
    if (random() % 8 != 0) check_ok(pipe->start());
    const std::uint64_t events = random() % 200;
    script->feed(events);
    for (std::uint64_t turns = random() % 20; turns > 0; --turns) std::this_thread::yield();
    switch (random() % 4) {
      case 0:
        break;  // the destructor ends it
      case 1:
        static_cast<void>(pipe->drain());
        break;
      default:
        value_of(pipe->shutdown());
    }
  }
}

}  // namespace memtrack::actors
