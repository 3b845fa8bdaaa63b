#include <filesystem>
#include <thread>

#include "tests/actors/actors_support.h"

namespace memtrack::actors {
namespace {

constexpr std::uint32_t kBatch = 1024;
constexpr std::uint64_t kCounts[] = {0, 1, kBatch - 1, kBatch, kBatch + 1};

pipeline::CaptureOptions options_with(std::chrono::nanoseconds flush_interval) {
  pipeline::CaptureOptions options;
  options.batch.events = kBatch;
  options.batch.flush_interval = flush_interval;
  return options;
}

}  // namespace

TEST_CASE("B7: a partial batch is in the file after shutdown") {
  for (const std::uint64_t count : kCounts) {
    CAPTURE(count);
    Capture capture(options_with(std::chrono::hours(1)));
    check_ok(capture.pipe->start());
    capture.script->feed(count);
    const CaptureSummary summary = value_of(capture.pipe->shutdown());
    CHECK(summary.counters.events_written == count);
    CHECK(summary.path == capture.artifact());
    CHECK_FALSE(std::filesystem::exists(capture.part()));
    check_events(capture.artifact(), count);
  }
}

TEST_CASE("B7: a partial batch is in the file after a drain, and capture goes on") {
  for (const std::uint64_t count : kCounts) {
    CAPTURE(count);
    Capture capture(options_with(std::chrono::hours(1)));
    check_ok(capture.pipe->start());
    capture.script->feed(count);
    CHECK(value_of(capture.pipe->drain()).events_written == count);
    if (count > 0) check_events(capture.part(), count);
    capture.script->feed(5);
    CHECK(value_of(capture.pipe->drain()).events_written == count + 5);
    check_events(capture.part(), count + 5);
    value_of(capture.pipe->shutdown());
    check_events(capture.artifact(), count + 5);
  }
}

TEST_CASE("B7: a partial batch is in the file after the flush interval") {
  for (const std::uint64_t count : kCounts) {
    CAPTURE(count);
    Capture capture(options_with(std::chrono::milliseconds(2)));
    check_ok(capture.pipe->start());
    capture.script->feed(count);
    while (capture.pipe->stats().events_written < count) std::this_thread::yield();  // ctest's timeout is the limit
    if (count > 0) check_events(capture.part(), count);
    value_of(capture.pipe->shutdown());
    check_events(capture.artifact(), count);
  }
}

TEST_CASE("B7: what the source gives at its own end is in the file") {
  for (const std::uint64_t count : kCounts) {
    CAPTURE(count);
    Capture capture(options_with(std::chrono::hours(1)));
    capture.script->losses[LossCause::kRingFull] = 3;
    capture.script->feed(count);
    capture.script->end();
    check_ok(capture.pipe->start());
    const CaptureSummary summary = value_of(capture.pipe->wait());
    check_events(capture.artifact(), count);
    CHECK(summary.counters.losses[LossCause::kRingFull] == 3);
    CHECK(summary.notes == std::vector<std::string>{"a note"});
  }
}

TEST_CASE("B8: a drain returns though the producer never pauses") {
  Capture capture(options_with(std::chrono::hours(1)));
  capture.script->endless = true;
  check_ok(capture.pipe->start());
  std::uint64_t before = 0;
  while ((before = capture.script->given_now()) < 100'000) std::this_thread::yield();
  CHECK(value_of(capture.pipe->drain()).events_written >= before);
  value_of(capture.pipe->drain());
  value_of(capture.pipe->shutdown());
}

TEST_CASE("a drain before the start and after the end answers at once") {
  Capture capture;
  CHECK(value_of(capture.pipe->drain()).events_written == 0);
  check_ok(capture.pipe->start());
  capture.script->feed(3);
  value_of(capture.pipe->shutdown());
  CHECK(value_of(capture.pipe->drain()).events_written == 3);
}

TEST_CASE("enable and disable reach the source, in order") {
  Capture capture;
  check_ok(capture.pipe->start());
  check_ok(capture.pipe->set_enabled(false));
  check_ok(capture.pipe->set_enabled(true));
  CHECK(capture.script->switches == std::vector<bool>{false, true});
  value_of(capture.pipe->shutdown());
  const auto late = capture.pipe->set_enabled(true);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == ErrorCode::kClosed);
}

TEST_CASE("ping and stats answer from other threads while the capture runs") {
  Capture capture;
  check_ok(capture.pipe->start());
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) {
      CHECK(capture.pipe->ping(std::chrono::seconds(60)));
      CHECK(capture.pipe->stats().events_written <= 1000);
    }
  });
  capture.script->feed(1000);
  value_of(capture.pipe->drain());
  other.join();
  value_of(capture.pipe->shutdown());
}

}  // namespace memtrack::actors
