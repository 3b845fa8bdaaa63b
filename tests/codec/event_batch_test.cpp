#include <cerrno>
#include <string>

#include <doctest/doctest.h>

#include "codec/error.h"
#include "codec/event_encoder.h"
#include "codec/loss.h"
#include "tests/codec/codec_test_support.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::test;

TEST_CASE("a batch keeps events and payloads in order, and clear keeps its capacity") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const EventBatch source = random_batch(100, random);
  EventBatch copy(100);
  for (int round = 0; round < 2; ++round) {
    copy.clear();
    CHECK(copy.empty());
    CHECK(copy.payload_bytes() == 0);
    for (std::size_t i = 0; i < source.size(); ++i) copy.append_from(source, i);
    CHECK(copy.room() == 0);
    CHECK(copy.payload_bytes() == source.payload_bytes());
    CHECK(copy.used_bytes() == 100 * sizeof(Event) + source.payload_bytes());
    CHECK(same_events(copy, source));
  }
}

TEST_CASE("events that differ in one field or one payload byte are not the same") {
  EventBatch batch(10);
  Event mapping{};
  mapping.kind = EventKind::kMapping;
  batch.append_mapping(mapping, "/a");
  batch.append_mapping(mapping, "/b");
  batch.append_mapping(mapping, "");
  mapping.mapping.len = 1;
  batch.append_mapping(mapping, "/a");
  CHECK(same_event(batch, 0, batch, 0));
  for (std::size_t i = 1; i < 4; ++i) CHECK(!same_event(batch, 0, batch, i));

  EventBatch stacks(4);
  Event stack{};
  stack.kind = EventKind::kStack;
  const std::uint64_t one[] = {1};
  stacks.append_stack(stack, {.regs = one, .bytes = {}, .fp_chain = {}});
  stacks.append_stack(stack, {.regs = {}, .bytes = {}, .fp_chain = one});
  CHECK(!same_event(stacks, 0, stacks, 1));
  CHECK(stacks.stack(stacks[0]).regs.size() == 1);
  CHECK(stacks.stack(stacks[0]).fp_chain.empty());
}

TEST_CASE("every kind has a name that leads back to it, and nothing else has") {
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    const auto kind = static_cast<EventKind>(i);
    CHECK(event_kind(to_string(kind)) == kind);
  }
  CHECK(!event_kind("malloc"));
  CHECK(!event_kind(""));
  CHECK(!event_kind("Mallocs"));
}

TEST_CASE("a frame's summary has counts, kinds and the outermost stamps, also when merged in parts") {
  std::mt19937_64 random(11);
  const EventBatch batch = random_batch(200, random);
  FrameSummary whole;
  FrameSummary parts[2];
  for (std::size_t i = 0; i < batch.size(); ++i) {
    whole.add(batch[i]);
    parts[i % 2].add(batch[i]);
  }
  CHECK(whole.event_count == 200);
  CHECK(whole.kinds == (1u << kEventKindCount) - 1);
  std::uint64_t modules = 0;
  std::uint64_t first = UINT64_MAX;
  std::uint64_t last = 0;
  for (const Event& event : batch.events()) {
    modules += is_module_event(event.kind) ? 1 : 0;
    first = std::min(first, event.timestamp_ns);
    last = std::max(last, event.timestamp_ns);
  }
  CHECK(whole.module_event_count == modules);
  CHECK(whole.first_timestamp_ns == first);
  CHECK(whole.last_timestamp_ns == last);
  FrameSummary merged;
  merged.merge(parts[0]);
  merged.merge(parts[1]);
  merged.merge(FrameSummary{});
  CHECK(merged == whole);
}

TEST_CASE("an error reads as one sentence with what is known and nothing else") {
  CHECK(to_string(Error{.code = ErrorCode::kCorruptFrame, .message = "damaged"}) == "damaged");
  CHECK(
      to_string(Error{.code = ErrorCode::kCorruptFrame, .message = "damaged", .path = "f", .frame = 2, .offset = 70}) ==
      "f: damaged (frame 2 at byte 70)");
  CHECK(to_string(Error{.code = ErrorCode::kCorruptIndex, .message = "damaged", .offset = 70}) ==
        "damaged (at byte 70)");
  CHECK(to_string(io_error("cannot open", "/x", ENOENT)) == "/x: cannot open: No such file or directory");
  CHECK(to_string(ErrorCode::kCorruptFrame) == "corrupt_frame");
}

TEST_CASE("losses are summed over all causes, and each cause has words of its own") {
  LossCounters losses;
  losses[LossCause::kRingFull] = 3;
  losses[LossCause::kEarlyCall] = 4;
  CHECK(losses.total() == 7);
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    for (std::size_t k = 0; k < i; ++k)
      CHECK(to_string(static_cast<LossCause>(i)) != to_string(static_cast<LossCause>(k)));
    CHECK(to_string(static_cast<LossCause>(i)) != "unknown cause");
  }
}
