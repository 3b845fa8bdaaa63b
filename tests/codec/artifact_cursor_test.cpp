#include "codec/artifact_cursor.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "tests/codec/codec_test_support.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

EventBatch mallocs(std::size_t count, std::uint64_t from = 0) {
  EventBatch batch(count);
  for (std::uint64_t i = 0; i < count; ++i) batch.append(malloc_event(from + i, i * 16));
  return batch;
}

bool is_prefix(const EventBatch& prefix, const EventBatch& of) {
  if (prefix.size() > of.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (!same_event(prefix, i, of, i)) return false;
  }
  return true;
}

const Bytes kUnknownEvent =
    joined({from_hex("82 a4"), bytes_of("type"), from_hex("a3"), bytes_of("Zzz"), from_hex("a1 78 93 01 02 c0")});

// Random frames of random events, some with a checksum, with skippable frames and unknown events between.
struct RandomArtifact {
  Bytes bytes;
  EventBatch events{2000};
  std::uint64_t unknown_kinds = 0;
};

RandomArtifact random_artifact(std::mt19937_64& random) {
  RandomArtifact made;
  const std::size_t frames = 1 + random() % 4;
  for (std::size_t i = 0; i < frames; ++i) {
    if (random() % 3 == 0)
      append(made.bytes, skippable_frame(0x184D2A50 + static_cast<std::uint32_t>(random() % 16), Bytes(random() % 30)));
    Bytes content;
    const std::size_t count = random() % 150;
    for (std::size_t k = 0; k < count; ++k) {
      EventBatch one(1);
      append_random(one, static_cast<EventKind>(random() % kEventKindCount), random);
      made.events.append_from(one, 0);
      append(content, encode(one));
      if (random() % 10 == 0) {
        append(content, kUnknownEvent);
        ++made.unknown_kinds;
      }
    }
    append(made.bytes, frame_of(content, random() % 2 == 0));
  }
  return made;
}

}  // namespace

TEST_CASE("an artifact of one empty frame has no events and is whole (A7)") {
  const Reading reading = read_artifact(golden("empty.memtrack"));
  CHECK(!reading.error);
  CHECK(!reading.truncated);
  CHECK(reading.events.empty());
}

TEST_CASE("an empty file and a foreign file are told apart") {
  CHECK(read_artifact({}).error->code == ErrorCode::kEmptyFile);
  CHECK(read_artifact(bytes_of("not zstd at all")).error->code == ErrorCode::kNotAnArtifact);
  // zstd, but not of events
  const Reading reading = read_artifact(frame_of(bytes_of("just some text")));
  REQUIRE(reading.error);
  CHECK(reading.error->code == ErrorCode::kMalformedEvent);
  CHECK(reading.error->message.find("byte 0") != std::string::npos);
}

TEST_CASE("batches of any size give the same events (A18)") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 10; ++round) {
    const RandomArtifact made = random_artifact(random);
    for (const std::size_t capacity : {1u, 7u, 4096u}) {
      CAPTURE(capacity);
      ArtifactCursor cursor(made.bytes);
      EventBatch batch(capacity);
      EventBatch all(made.events.size() + 1);
      for (auto status = ArtifactCursor::Status::kMore; status == ArtifactCursor::Status::kMore;) {
        batch.clear();
        const auto next = cursor.next(batch);
        REQUIRE(next);
        status = *next;
        if (status == ArtifactCursor::Status::kMore) CHECK(batch.size() == capacity);
        REQUIRE(all.room() > batch.size());
        for (std::size_t i = 0; i < batch.size(); ++i) all.append_from(batch, i);
      }
      CHECK(same_events(all, made.events));
      CHECK(cursor.counters().unknown_kinds == made.unknown_kinds);
      CHECK(cursor.counters().events == made.events.size());
      CHECK(cursor.bytes_read() == made.bytes.size());
      CHECK(!cursor.truncated());
    }
  }
}

TEST_CASE("an artifact cut anywhere gives a prefix of its events and never an error (A1, A18)") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 10; ++round) {
    const RandomArtifact made = random_artifact(random);
    for (int cut = 0; cut < 50; ++cut) {
      const std::size_t size = 1 + random() % (made.bytes.size() - 1);
      CAPTURE(size);
      const Reading reading = read_artifact(std::span(made.bytes).first(size));
      if (reading.error) FAIL(to_string(*reading.error));
      CHECK(is_prefix(reading.events, made.events));
      const auto frames = split(std::span(made.bytes).first(size));
      CHECK(reading.truncated == frames.back().cut);
    }
  }
}

TEST_CASE("a small artifact cut at every byte keeps all events of its whole frames") {
  const EventBatch first = mallocs(10);
  const EventBatch second = mallocs(10, 100);
  const Bytes head = frame_of(encode(first));
  const Bytes artifact = joined({head, frame_of(encode(second))});
  for (std::size_t size = 1; size < artifact.size(); ++size) {
    CAPTURE(size);
    const Bytes cut(artifact.begin(), artifact.begin() + static_cast<std::ptrdiff_t>(size));
    const Reading reading = read_artifact(cut);
    REQUIRE(!reading.error);
    CHECK(reading.truncated == (size != head.size()));
    CHECK(reading.events.size() >= (size >= head.size() ? first.size() : 0));
  }
}

TEST_CASE("a cut of 1, 64 or half a frame costs only what was behind the cut (A1)") {
  EventBatch all(200'000);
  Bytes artifact;
  std::size_t last_size = 0;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const EventBatch part = mallocs(50'000, i * 50'000);
    for (std::size_t k = 0; k < part.size(); ++k) all.append_from(part, k);
    const Bytes frame = frame_of(encode(part));
    last_size = frame.size();
    append(artifact, frame);
  }
  for (const std::size_t lost : {std::size_t{1}, std::size_t{64}, last_size / 2}) {
    CAPTURE(lost);
    const Reading reading = read_artifact(std::span(artifact).first(artifact.size() - lost));
    CHECK(!reading.error);
    CHECK(reading.truncated);
    CHECK(reading.events.size() >= 150'000);
    CHECK(is_prefix(reading.events, all));
    // Most of a frame that lost one byte is there.
    if (lost == 1) CHECK(reading.events.size() > 195'000);
  }
}

TEST_CASE("a damaged middle frame is an error after all events before it, not a short result (A2)") {
  const Bytes good = frame_of(encode(mallocs(1000)));
  Bytes bad = good;
  std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(bad.size() / 2), 32, std::byte{0});
  const Reading reading = read_artifact(joined({good, good, bad, good, good}));
  REQUIRE(reading.error);
  CHECK(reading.error->code == ErrorCode::kCorruptFrame);
  CHECK(reading.error->frame == 2);
  CHECK(reading.error->offset == 2 * good.size());
  CHECK(reading.events.size() >= 2000);
  CHECK(reading.events.size() <= 3000);
}

TEST_CASE("after an error the cursor is at its end") {
  const Bytes artifact = frame_of(from_hex("c0"));
  ArtifactCursor cursor(artifact);
  EventBatch batch(10);
  CHECK(!cursor.next(batch).has_value());
  CHECK(*cursor.next(batch) == ArtifactCursor::Status::kEnd);
  CHECK(batch.empty());
}

TEST_CASE("left-over bytes at the end of an intact frame are a malformed event") {
  Bytes content = encode(mallocs(3));
  const std::size_t whole = content.size();
  append(content, from_hex("86 a3"));
  const Bytes good = frame_of(encode(mallocs(1)));
  const Reading reading = read_artifact(joined({good, frame_of(content), good}));
  REQUIRE(reading.error);
  CHECK(reading.error->code == ErrorCode::kMalformedEvent);
  CHECK(reading.error->frame == 1);
  CHECK(reading.error->offset == good.size());
  CHECK(reading.error->message.find("byte " + std::to_string(whole)) != std::string::npos);
  CHECK(reading.events.size() == 4);
}

TEST_CASE("an event never goes on in the next frame") {
  const Bytes content = encode(mallocs(2));
  const auto half = std::span(content).first(content.size() / 2 + 5);
  const auto rest = std::span(content).subspan(half.size());
  const Reading reading = read_artifact(joined({frame_of(half), frame_of(rest)}));
  REQUIRE(reading.error);
  CHECK(reading.error->code == ErrorCode::kMalformedEvent);
  CHECK(reading.error->frame == 0);
}

TEST_CASE("the offset of a malformed event counts over all pieces of a frame") {
  Bytes content = encode(mallocs(10'000));
  const std::size_t whole = content.size();
  REQUIRE(whole > 3 * (128u << 10));
  append(content, from_hex("81 01 02"));
  append(content, encode(mallocs(10'000)));
  const Reading reading = read_artifact(frame_of(content));
  REQUIRE(reading.error);
  CHECK(reading.error->message.find("byte " + std::to_string(whole) + " ") != std::string::npos);
  CHECK(reading.events.size() == 10'000);
}

TEST_CASE("events larger than a piece are carried over, up to the cap") {
  const Bytes memory(1'000'000, std::byte{0x5A});
  const std::vector<std::uint64_t> words(100'000, 0x7fff00000000);
  EventBatch batch(5);
  batch.append(malloc_event(1, 1));
  Event stack{};
  stack.kind = EventKind::kStack;
  batch.append_stack(stack, {.regs = {}, .bytes = memory, .fp_chain = words});
  batch.append(malloc_event(2, 1));
  batch.append_stack(stack, {.regs = words, .bytes = memory, .fp_chain = {}});
  batch.append(malloc_event(3, 1));
  const Bytes artifact = frame_of(encode(batch));
  const Reading reading = read_artifact(artifact);
  REQUIRE(!reading.error);
  CHECK(same_events(reading.events, batch));

  const Reading capped = read_artifact(artifact, {.event_bytes = 1'000'000});
  REQUIRE(capped.error);
  CHECK(capped.error->code == ErrorCode::kMalformedEvent);
  CHECK(capped.error->message.find("cap") != std::string::npos);
  CHECK(capped.events.size() == 1);
}

TEST_CASE("declared lengths of gigabytes are errors, in frames that are whole (A11)") {
  for (const std::string_view huge :
       {"dd ffffffff", "df ffffffff", "c6 ffffffff", "db ffffffff", "81 a1 61 c6 00ffffff"}) {
    CAPTURE(huge);
    const Reading reading = read_artifact(frame_of(from_hex(huge)));
    REQUIRE(reading.error);
    CHECK(reading.error->code == ErrorCode::kMalformedEvent);
    CHECK(reading.events.empty());
  }
}

TEST_CASE("unknown kinds between known ones, also at frame borders, are skipped and counted (A13)") {
  const Bytes known = encode(mallocs(5));
  const Reading reading = read_artifact(
      joined({frame_of(joined({kUnknownEvent, known, kUnknownEvent})), frame_of(kUnknownEvent), frame_of(known)}));
  CHECK(!reading.error);
  CHECK(reading.events.size() == 10);
  CHECK(reading.counters.unknown_kinds == 3);
}

TEST_CASE("random damage anywhere gives a prefix, an error or both, and never anything else") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  Bytes artifact;
  EventBatch all(3000);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const EventBatch part = mallocs(1000, i * 1000);
    for (std::size_t k = 0; k < part.size(); ++k) all.append_from(part, k);
    append(artifact, frame_of(encode(part)));
  }
  for (int round = 0; round < 1000; ++round) {
    Bytes damaged = artifact;
    damaged[random() % damaged.size()] ^= static_cast<std::byte>(1u << random() % 8);
    const Reading reading = read_artifact(damaged);
    if (!reading.error && !reading.truncated) CHECK(same_events(reading.events, all));
    if (reading.truncated) CHECK(is_prefix(reading.events, all));
  }
}
