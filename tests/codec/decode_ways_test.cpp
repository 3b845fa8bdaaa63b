// Exact, portable and AVX2 decoding, of all kinds or of some: on whatever bytes, the results must be the same.
#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "codec/event_decoder.h"
#include "codec/event_fast_path.h"
#include "tests/codec/codec_test_support.h"
#include "tests/codec/odd_events.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::test;
using Status = DecodeStep::Status;

namespace {

struct Outcome {
  EventBatch events{0};
  DecodeCounters counters = {};
  DecodeStep step = {};
};

Outcome decode(std::span<const std::byte> bytes, const DecodeOptions& options, std::size_t room) {
  Outcome outcome{.events = EventBatch(room)};
  outcome.step = decode_events(bytes, outcome.events, outcome.counters, options);
  return outcome;
}

/// The same in batches of `room` events, put together again.
Outcome decode_in_parts(std::span<const std::byte> bytes, const DecodeOptions& options, std::size_t room) {
  Outcome whole{.events = EventBatch(bytes.size() + 1)};
  EventBatch part(room);
  do {
    part.clear();
    const std::size_t before = whole.step.consumed;
    whole.step = decode_events(bytes.subspan(before), part, whole.counters, options);
    whole.step.consumed += before;
    for (std::size_t i = 0; i < part.size(); ++i) whole.events.append_from(part, i);
  } while (whole.step.status == Status::kBatchFull);
  return whole;
}

EventBatch filtered(const EventBatch& all, KindSet kinds) {
  EventBatch kept(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((kinds & kind_bit(all[i].kind)) != 0) kept.append_from(all, i);
  }
  return kept;
}

bool same_outcome(const Outcome& a, const Outcome& b) {
  return same_events(a.events, b.events) && a.counters.events == b.counters.events &&
         a.counters.unknown_kinds == b.counters.unknown_kinds && a.counters.unknown_keys == b.counters.unknown_keys &&
         a.step.status == b.step.status && a.step.consumed == b.step.consumed && a.step.reason == b.step.reason;
}

std::vector<DecodeWay> ways() {
  std::vector<DecodeWay> all = {DecodeWay::kExact, DecodeWay::kPortable};
  if (is_available(DecodeWay::kAvx2)) all.push_back(DecodeWay::kAvx2);
  return all;
}

/// Whether all ways, all selections and a small batch give what the exact decoder gives.
bool all_ways_agree(std::span<const std::byte> bytes, const DecodeLimits& limits = {}) {
  const Outcome exact = decode(bytes, {.limits = limits, .way = DecodeWay::kExact}, bytes.size() + 1);
  bool agree = true;
  for (const DecodeWay way : ways()) {
    for (const KindSet kinds :
         {kAllKinds, kModuleKinds, kind_bit(EventKind::kFree) | kind_bit(EventKind::kStack), KindSet{0}}) {
      const DecodeOptions options{.limits = limits, .kinds = kinds, .way = way};
      const Outcome wanted{.events = filtered(exact.events, kinds), .counters = exact.counters, .step = exact.step};
      agree = agree && same_outcome(decode(bytes, options, bytes.size() + 1), wanted) &&
              same_outcome(decode_in_parts(bytes, options, 3), wanted);
    }
  }
  return agree;
}

}  // namespace

TEST_CASE("all ways agree on the golden artifacts") {
  for (const char* name :
       {"kinds.memtrack", "old_realloc.memtrack", "realistic_3frames.memtrack", "stacks_2frames.memtrack"}) {
    CAPTURE(name);
    const Bytes content = decompress(golden(name)).value();
    const Outcome exact = decode(content, {.way = DecodeWay::kExact}, content.size());
    CHECK(exact.step.consumed == content.size());
    for (const DecodeWay way : ways()) {
      CHECK(same_outcome(decode(content, {.way = way}, content.size()), exact));
      CHECK(same_events(decode(content, {.kinds = kModuleKinds, .way = way}, content.size()).events,
                        filtered(exact.events, kModuleKinds)));
    }
  }
}

TEST_CASE("all ways agree on events of every kind with edge values") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 10; ++round) CHECK(all_ways_agree(encode(random_batch(300, random))));
}

TEST_CASE(
    "all ways agree on odd key orders, widths, extra keys, unknown kinds and events inside of values (A13, A18)") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    REQUIRE(all_ways_agree(mixed_content(random, 40, OddParts::kLegal)));
    REQUIRE(all_ways_agree(mixed_content(random, 40, OddParts::kIllegalToo)));
  }
}

TEST_CASE("all ways agree wherever the bytes are cut") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const Bytes content = mixed_content(random, 12, OddParts::kLegal);
  for (std::size_t size = 0; size <= content.size(); ++size) {
    CAPTURE(size);
    // A copy, so that a sanitizer sees a read behind the end.
    REQUIRE(all_ways_agree(Bytes(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(size))));
  }
}

TEST_CASE("all ways agree where bits are flipped") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    Bytes content = mixed_content(random, 8, OddParts::kNone);
    for (std::uint64_t flips = 1 + random() % 2; flips > 0; --flips) {
      content[random() % content.size()] ^= std::byte{1} << random() % 8;
    }
    REQUIRE(all_ways_agree(content));
  }
}

TEST_CASE("each bit of each form is compared or belongs to a value") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const Bytes behind = mixed_content(random, 6, OddParts::kNone);
  for (int form = 0; form < 40; ++form) {
    CAPTURE(form);
    const Bytes event = mixed_content(random, 1, OddParts::kNone);
    Bytes content = joined({event, behind});
    for (std::size_t bit = 0; bit < 8 * event.size(); ++bit) {
      CAPTURE(bit);
      content[bit / 8] ^= std::byte{1} << bit % 8;
      const Outcome exact = decode(content, {.way = DecodeWay::kExact}, 100);
      for (const DecodeWay way : ways()) REQUIRE(same_outcome(decode(content, {.way = way}, 100), exact));
      content[bit / 8] ^= std::byte{1} << bit % 8;
    }
  }
}

TEST_CASE("a cap on an event's size holds for events that have a form, too") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const Bytes content = mixed_content(random, 20, OddParts::kNone);
  for (std::uint64_t cap = 40; cap < 200; ++cap) {
    CAPTURE(cap);
    CHECK(all_ways_agree(content, {.event_bytes = cap}));
  }
}

TEST_CASE("events in written form are taken without the exact decoder's help") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (const fast::Path& path : {fast::kPortable, is_available(DecodeWay::kAvx2) ? fast::kAvx2 : fast::kPortable}) {
    const Bytes content = mixed_content(random, 100, OddParts::kNone);
    const std::byte* const end = content.data() + content.size();
    EventBatch events(100);
    fast::Run run{.at = content.data(), .end = end, .to = events.prepare(), .to_end = events.prepare() + 100};
    const auto done = [&] { return end - run.at < fast::kMaxReach; };
    // The first event with a stack_hash ends a run, since up to there none is looked for.
    for (int i = 0; i < 2 && !done(); ++i) path.keep(run);
    CHECK(done());
    run.at = content.data();
    run.events = 0;
    path.skip(run);
    CHECK(done());
    CHECK(run.events > 90);
  }
}

TEST_CASE("module events of a cut artifact are those of a full read (A18)") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  Bytes artifact;
  for (int frame = 0; frame < 4; ++frame) append(artifact, frame_of(mixed_content(random, 60, OddParts::kLegal)));
  for (int round = 0; round < 200; ++round) {
    const std::span cut(artifact.data(), 1 + random() % artifact.size());
    CAPTURE(cut.size());
    const Reading all = read_artifact(cut);
    const Reading modules = read_artifact(cut, {}, kModuleKinds);
    CHECK(same_events(modules.events, filtered(all.events, kModuleKinds)));
    CHECK(modules.truncated == all.truncated);
    CHECK(modules.counters.events == all.counters.events);
    CHECK(modules.counters.unknown_kinds == all.counters.unknown_kinds);
    CHECK(modules.error.has_value() == all.error.has_value());
  }
}
