#include "pipeline/poller.h"

#include <doctest/doctest.h>

#include "tests/pipeline/fake_source.h"

namespace memtrack::pipeline {
namespace {

using std::chrono::milliseconds;

struct Fixture {
  FakeSource source;
  BufferPool<EventBatch> pool{4, [] { return std::make_unique<EventBatch>(kChunkEvents); }};
  Poller poller{source, pool, 100};

  Poller::Step step() {
    auto result = poller.step(milliseconds(7));
    REQUIRE(result);
    return std::move(*result);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a poll that brings nothing gives no chunk and takes one buffer only once") {
  for (int i = 0; i < 3; ++i) CHECK_FALSE(step().chunk);
  CHECK(pool.in_use() == 1);
  CHECK(poller.next_seq() == 0);
}

TEST_CASE_FIXTURE(Fixture, "chunks are full while the source has events, and numbered without gaps") {
  source.answers = {{.events = 250}};
  std::uint64_t number = 0;
  for (std::uint64_t seq = 0; seq < 3; ++seq) {
    const auto result = step();
    REQUIRE(result.chunk);
    CHECK(result.chunk->seq == seq);
    CHECK(result.chunk->events->size() == (seq < 2 ? 100 : 50));
    for (const Event& event : result.chunk->events->events()) CHECK(event.addr == number++);
  }
  CHECK_FALSE(step().chunk);
}

TEST_CASE_FIXTURE(Fixture, "several small polls make one chunk, and only the first of them waits") {
  source.answers = {{.events = 30}, {.events = 30}, {.events = 0}, {.events = 30}};
  const auto first = step();
  REQUIRE(first.chunk);
  CHECK(first.chunk->events->size() == 60);
  CHECK(source.timeouts == std::vector<std::chrono::nanoseconds>{milliseconds(7), milliseconds(0), milliseconds(0)});
  CHECK(step().chunk->events->size() == 30);
}

TEST_CASE_FIXTURE(Fixture, "a chunk ends where a drain is reached") {
  source.answers = {{.events = 10}, {.events = 5, .poll = {.drain_reached = true}}, {.events = 20}};
  const auto drained = step();
  CHECK(drained.drain_reached);
  CHECK_FALSE(drained.ended);
  CHECK(drained.chunk->events->size() == 15);
  const auto after = step();
  CHECK_FALSE(after.drain_reached);
  CHECK(after.chunk->events->size() == 20);
}

TEST_CASE_FIXTURE(Fixture, "a drain is told also where a full chunk comes first") {
  source.answers = {{.events = 100, .poll = {.drain_reached = true}}};
  CHECK(step().drain_reached);
  source.answers = {{.events = 101, .poll = {.drain_reached = true}}};
  CHECK_FALSE(step().drain_reached);
  CHECK(step().drain_reached);
}

TEST_CASE_FIXTURE(Fixture, "the end comes with the last events, or alone") {
  SUBCASE("with events") {
    source.answers = {{.events = 3, .poll = {.ended = true}}};
    const auto last = step();
    CHECK(last.ended);
    CHECK(last.chunk->events->size() == 3);
  }
  SUBCASE("alone") {
    source.answers = {{.events = 0, .poll = {.ended = true}}};
    const auto last = step();
    CHECK(last.ended);
    CHECK_FALSE(last.chunk);
  }
}

TEST_CASE_FIXTURE(Fixture, "events that came before a failure are given before it") {
  source.answers = {{.events = 10}, {.events = 4, .fail = true}};
  CHECK(step().chunk->events->size() == 14);
  const auto failed = poller.step(milliseconds(7));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "the source broke");
  CHECK_FALSE(poller.step(milliseconds(7)));
}

TEST_CASE_FIXTURE(Fixture, "a failure without events is told at once") {
  source.answers = {{.events = 0, .fail = true}};
  CHECK_FALSE(poller.step(milliseconds(7)));
}

TEST_CASE_FIXTURE(Fixture, "a chunk is closed early when its paths pass 1 MiB") {
  source.answers = {{.events = 60, .path_bytes = 100'000}};
  const auto first = step();
  CHECK(first.chunk->events->size() == 11);
  CHECK(first.chunk->events->payload_bytes() >= kChunkPayloadBytes);
  std::size_t events = 11;
  while (auto chunk = step().chunk) events += chunk->events->size();
  CHECK(events == 60);
}

}  // namespace memtrack::pipeline
