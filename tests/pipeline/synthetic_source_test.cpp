#include "pipeline/synthetic_source.h"

#include <array>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <doctest/doctest.h>

#include "pipeline/batch.h"
#include "tests/pipeline/artifact_support.h"

namespace memtrack::pipeline {
namespace {

EventBatch all_events(const SyntheticOptions& options, std::size_t poll_events = kChunkEvents) {
  const auto source = make_synthetic_source(options);
  REQUIRE(source->open());
  REQUIRE(source->start());
  EventBatch events(options.events);
  EventBatch chunk(kChunkEvents);
  for (bool ended = false; !ended;) {
    chunk.clear();
    const auto poll = source->poll(chunk, poll_events, {});
    REQUIRE(poll);
    REQUIRE(chunk.size() <= poll_events);
    for (std::size_t i = 0; i < chunk.size(); ++i) events.append_from(chunk, i);
    ended = poll->ended;
  }
  return events;
}

/// Counts what a program could not have done.
struct History {
  std::unordered_map<std::uint64_t, std::uint64_t> live;  // address to size
  std::size_t impossible = 0;
  std::size_t most_live = 0;
  std::set<std::int32_t> processes;

  void apply(const Event& event) {
    if (event.kind == EventKind::kFree) {
      if (live.erase(event.addr) == 0) ++impossible;
    } else if (is_allocation(event.kind)) {
      if (event.has(Event::kHasOldAddr) && live.erase(event.alloc.old_addr) == 0) ++impossible;
      if (!live.emplace(event.addr, event.alloc.size).second) ++impossible;
    } else if (event.kind == EventKind::kFork || (event.kind == EventKind::kExec && processes.empty())) {
      if (!processes.insert(event.pid).second) ++impossible;
    } else if (event.kind == EventKind::kExit) {
      if (processes.erase(event.pid) == 0) ++impossible;
    }
    most_live = std::max(most_live, live.size());
  }
};

}  // namespace

TEST_CASE("the realistic mix is a possible history") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    for (const bool stacks : {false, true}) {
      CAPTURE(seed);
      const EventBatch events = all_events({.seed = seed, .events = 300'000, .stack_hashes = stacks});
      REQUIRE(events.size() == 300'000);
      History history;
      for (const Event& event : events.events()) history.apply(event);
      CHECK(history.impossible == 0);
      CHECK(history.processes.empty());
      CHECK(history.most_live <= 65'536);
      CHECK(events[0].kind == EventKind::kExec);
      CHECK(events[299'999].kind == EventKind::kExit);
      bool ordered = true;
      for (std::size_t i = 1; i < events.size(); ++i) {
        ordered = ordered && events[i - 1].timestamp_ns <= events[i].timestamp_ns;
      }
      CHECK(ordered);
    }
  }
}

TEST_CASE("the realistic mix has the shares that it says") {
  const EventBatch events = all_events({.events = 500'000});
  std::array<std::size_t, kEventKindCount> count{};
  std::size_t large = 0;
  std::set<std::int32_t> threads;
  for (const Event& event : events.events()) {
    ++count[static_cast<std::size_t>(event.kind)];
    if (is_allocation(event.kind) && event.alloc.size > 512) ++large;
    if (event.kind == EventKind::kMalloc) threads.insert(event.tid);
  }
  const auto share = [&](std::initializer_list<EventKind> kinds) {
    std::size_t sum = 0;
    for (const EventKind kind : kinds) sum += count[static_cast<std::size_t>(kind)];
    return static_cast<double>(sum) / 500'000;
  };
  CHECK(share({EventKind::kMalloc, EventKind::kCalloc, EventKind::kAlignedAlloc}) ==
        doctest::Approx(0.48).epsilon(0.03));
  CHECK(share({EventKind::kFree}) == doctest::Approx(0.42).epsilon(0.03));
  CHECK(share({EventKind::kRealloc}) == doctest::Approx(0.10).epsilon(0.05));
  CHECK(share({EventKind::kCalloc}) > 0.01);
  CHECK(share({EventKind::kMapping}) > 0.0001);
  CHECK(share({EventKind::kFork}) > 0.00005);
  CHECK(static_cast<double>(large) / (500'000 * 0.58) == doctest::Approx(0.05).epsilon(0.2));
  CHECK(threads.size() == 4);
}

TEST_CASE("every referenced stack is defined") {
  const EventBatch events = all_events({.events = 100'000, .stack_hashes = true});
  std::unordered_set<std::uint64_t> defined;
  std::size_t referenced = 0;
  std::size_t undefined = 0;
  for (const Event& event : events.events()) {
    if (event.kind == EventKind::kStack) {
      CHECK(events.stack(event).fp_chain.size() >= 4);
      CHECK(defined.insert(event.stack.hash).second);
    } else if (event.has(Event::kHasStackHash)) {
      ++referenced;
      if (!defined.contains(event.alloc.stack_hash)) ++undefined;
    }
  }
  CHECK(undefined == 0);
  CHECK(defined.size() == 256);
  CHECK(referenced > 50'000);
}

TEST_CASE("the same options give the same events, however they are polled") {
  for (const SyntheticMix mix : {SyntheticMix::kRealistic, SyntheticMix::kUniform}) {
    const SyntheticOptions options{.seed = 7, .events = 20'000, .mix = mix, .stack_hashes = true};
    const EventBatch events = all_events(options);
    CHECK(same_events(events, all_events(options, 7)));
    CHECK_FALSE(same_events(events, all_events({.seed = 8, .events = 20'000, .mix = mix, .stack_hashes = true})));
  }
}

TEST_CASE("few events are as many as asked for, each a possible history") {
  for (std::uint64_t number = 0; number < 12; ++number) {
    CAPTURE(number);
    const EventBatch events = all_events({.events = number});
    REQUIRE(events.size() == number);
    if (number >= 1) CHECK(events[0].kind == EventKind::kExec);
    if (number >= 2) CHECK(events[number - 1].kind == EventKind::kExit);
  }
  for (std::uint64_t number = 3333 * 3 - 3; number < 3333 * 3 + 6; ++number) {
    CAPTURE(number);
    const EventBatch events = all_events({.events = number});
    REQUIRE(events.size() == number);
    History history;
    for (const Event& event : events.events()) history.apply(event);
    CHECK(history.impossible == 0);
    CHECK(history.processes.empty());
  }
}

TEST_CASE("the uniform mix has every kind and every width of numbers") {
  const EventBatch events = all_events({.events = 30'000, .mix = SyntheticMix::kUniform, .stack_hashes = true});
  std::array<std::size_t, kEventKindCount> count{};
  bool negative = false;
  std::uint64_t largest = 0;
  std::uint64_t small = 0;
  for (const Event& event : events.events()) {
    ++count[static_cast<std::size_t>(event.kind)];
    negative = negative || event.pid < 0;
    largest = std::max(largest, event.addr);
    small += event.addr < 128 ? 1 : 0;
  }
  for (const std::size_t kind : count) CHECK(kind > 1500);
  CHECK(negative);
  CHECK(largest > ~std::uint64_t{0} / 2);
  CHECK(small > 100);
}

TEST_CASE("a switched-off synthetic source gives process events only, and the history stays possible") {
  const auto source = make_synthetic_source({.events = 100'000});
  REQUIRE(source->open());
  EventBatch events(200'000);
  REQUIRE(source->poll(events, 20'000, {}));
  CHECK(events.size() == 20'000);
  REQUIRE(source->set_enabled(false));
  const std::size_t cut = events.size();
  REQUIRE(source->poll(events, 40'000, {}));
  CHECK(events.size() > cut);
  for (std::size_t i = cut; i < events.size(); ++i) {
    CHECK((is_module_event(events[i].kind) || events[i].kind == EventKind::kExit));
  }
  REQUIRE(source->set_enabled(true));
  const auto last = source->poll(events, 100'000, {});
  REQUIRE(last);
  CHECK(last->ended);
  CHECK(events.size() > 60'000);
}

TEST_CASE("drain and stop of a synthetic source are answered by the next poll") {
  const auto source = make_synthetic_source({.events = 100'000});
  EventBatch events(100'000);
  source->begin_drain();
  auto poll = source->poll(events, 10, {});
  CHECK(poll->drain_reached);
  CHECK_FALSE(poll->ended);
  poll = source->poll(events, 10, {});
  CHECK_FALSE(poll->drain_reached);
  source->request_stop();
  poll = source->poll(events, 10, {});
  CHECK(poll->ended);
  CHECK(events.size() == 20);
}

TEST_CASE("a poll stops where paths and stacks pass 1 MiB") {
  const auto source = make_synthetic_source({.events = 100'000, .mix = SyntheticMix::kUniform});
  EventBatch events(100'000);
  REQUIRE(source->poll(events, 100'000, {}));
  CHECK(events.payload_bytes() >= kChunkPayloadBytes);
  CHECK(events.payload_bytes() < kChunkPayloadBytes + 10'000);
}

}  // namespace memtrack::pipeline
