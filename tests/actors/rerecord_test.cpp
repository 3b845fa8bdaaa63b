#include <random>
#include <thread>

#include "pipeline/replay_source.h"
#include "tests/actors/actors_support.h"
#include "tests/support/seed.h"

namespace memtrack::actors {
namespace {

struct Shape {
  std::uint32_t workers;
  std::uint32_t batch_events;
  std::uint32_t queue_items;
};

void rerecord(const std::string& golden, const Shape& shape, StageHook hook) {
  CAPTURE(golden);
  CAPTURE(shape.workers);
  CAPTURE(shape.batch_events);
  TemporaryFolder folder;
  pipeline::CaptureOptions options;
  options.write.directory = folder.path();
  options.compress.workers = shape.workers;
  options.batch.events = shape.batch_events;
  options.queue.items = shape.queue_items;
  const std::string input = std::string(MEMTRACK_GOLDEN_DIR) + "/" + golden;
  auto pipe = value_of(CapturePipeline::create(pipeline::make_replay_source(input), options, std::move(hook)));
  check_ok(pipe->start());
  const CaptureSummary summary = value_of(pipe->wait());
  const auto expected = decode_file(input);
  const auto written = decode_file(summary.path);
  CHECK(summary.counters.events_written == expected.events.size());
  CHECK(pipeline::same_events(expected.events, written.events));
}

constexpr const char* kGoldens[] = {"empty.memtrack", "kinds.memtrack", "old_realloc.memtrack",
                                    "realistic_3frames.memtrack", "stacks_2frames.memtrack"};

/// Compressors finish in random order, the writer is slow: both by spinning a random while.
StageHook random_pace(std::uint64_t seed) {
  return [seed](StageId stage, std::uint32_t worker, std::uint64_t seq) {
    if (stage != StageId::kCompressor && stage != StageId::kWriter) return;
    std::mt19937_64 random(seed ^ (seq * 0x9E3779B97F4A7C15u) ^ worker);
    for (std::uint64_t turns = random() % 50; turns > 0; --turns) std::this_thread::yield();
  };
}

}  // namespace

TEST_CASE("B1: every golden file re-recorded through the graph equals its input") {
  const std::uint64_t seed = test::test_seed();
  INFO("seed ", seed);
  for (const char* golden : kGoldens) {
    rerecord(golden, {.workers = 1, .batch_events = 65'536, .queue_items = 16}, {});
    rerecord(golden, {.workers = 4, .batch_events = 1000, .queue_items = 1}, random_pace(seed));
    rerecord(golden, {.workers = 1, .batch_events = 4097, .queue_items = 1}, random_pace(seed));
  }
  rerecord("kinds.memtrack", {.workers = 4, .batch_events = 1, .queue_items = 1}, random_pace(seed));
  rerecord("kinds.memtrack", {.workers = 3, .batch_events = 7, .queue_items = 2}, random_pace(seed));
}

TEST_CASE("B1: frames that compressors finish in reverse order are written by number") {
  // Batch 0 is held until the frames of batches 1 to 3 have come to the writer.
  auto arrived = std::make_shared<std::vector<std::uint64_t>>();  // by the writer's thread
  auto gate = std::make_shared<Gate>();
  pipeline::CaptureOptions options;
  options.compress.workers = 4;
  options.batch.events = 10;
  Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t seq) {
    if (stage == StageId::kCompressor && seq == 0) gate->pass();
    if (stage != StageId::kWriter) return;
    arrived->push_back(seq);
    if (arrived->size() == 3) gate->open();
  });
  capture.script->feed(40);
  capture.script->end();
  check_ok(capture.pipe->start());
  value_of(capture.pipe->wait());
  check_events(capture.artifact(), 40);
  REQUIRE(arrived->size() == 4);
  CHECK(arrived->back() == 0);
}

}  // namespace memtrack::actors
