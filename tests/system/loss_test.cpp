// Losses: counted to the last event, told with advice, decisive for the exit code.
#include <doctest/doctest.h>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack;
using namespace memtrack::test;

// One process and one thread, so every run makes the same calls.
const std::vector<std::string> kStorm{fixture("fork_tree"), "0", "0", "300000"};
const std::vector<std::string> kTinyRings{"--on-full", "drop", "--set", "source.preload.ring_size=4KiB"};

std::uint64_t heap_events(const EventBatch& events) {
  std::uint64_t count = 0;
  for (const Event& event : events.events()) {
    if (is_allocation(event.kind) || event.kind == EventKind::kFree) ++count;
  }
  return count;
}

TEST_CASE("what was recorded and what was lost is together what was done, and the exit code is 125 (D1, D2)") {
  const TemporaryDirectory whole_folder;
  const Recording whole = record(whole_folder.path(), kStorm);
  REQUIRE(whole.outcome.code == 0);
  check_recording(whole);
  REQUIRE(heap_events(whole.events) >= 600'000);

  const TemporaryDirectory folder;
  const Recording lossy = record(folder.path(), kStorm, kTinyRings);
  const auto losses = read_losses(lossy.artifact);
  REQUIRE(losses.has_value());
  INFO(lossy.outcome.err);
  CHECK(lossy.outcome.code == 125);
  CHECK(losses->total() > 0);
  CHECK((*losses)[LossCause::kRingFull] == losses->total());
  CHECK(heap_events(lossy.events) + losses->total() == heap_events(whole.events));
  CHECK(lossy.outcome.err.find("lost (ring full: ") != std::string::npos);
  CHECK(lossy.outcome.err.find("source.preload.ring_size (now 4KiB)") != std::string::npos);
}

TEST_CASE("with allow_loss the exit code is the target's own, and the loss is still told (D2)") {
  const TemporaryDirectory folder;
  std::vector<std::string> flags = kTinyRings;
  flags.emplace_back("--allow-loss");
  const Recording lossy = record(folder.path(), kStorm, flags);
  CHECK(lossy.outcome.code == 0);
  CHECK(read_losses(lossy.artifact).value().total() > 0);
  CHECK(lossy.outcome.err.find("lost (ring full: ") != std::string::npos);
}

TEST_CASE("a tiny ring that blocks loses nothing") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {fixture("fork_tree"), "0", "0", "20000"},
                                     {"--on-full", "block", "--set", "source.preload.ring_size=4KiB"});
  CHECK(recording.outcome.code == 0);
  check_recording(recording);
  CHECK(count_events(recording.events, EventKind::kMalloc, 3003) == 20'000);
}

}  // namespace
