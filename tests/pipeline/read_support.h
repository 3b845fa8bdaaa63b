// What the tests of readers share: artifacts made frame by frame, and everything that a reader gives.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "codec/artifact_cursor.h"
#include "codec/event_encoder.h"
#include "codec/event_text.h"
#include "codec/frame_encoder.h"
#include "pipeline/read_parts.h"
#include "pipeline/synthetic_source.h"
#include "tests/pipeline/artifact_support.h"

namespace memtrack::pipeline {

using Bytes = std::vector<std::byte>;

inline void append(Bytes& to, std::span<const std::byte> more) {
  to.insert(to.end(), more.begin(), more.end());
}
inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
inline Bytes frame_of(std::span<const std::byte> content, bool checksum = true) {
  auto encoder = FrameEncoder::create(kDefaultCompressionLevel, checksum);
  REQUIRE(encoder);
  ByteBuffer out;
  REQUIRE(encoder->encode(content, out));
  return {out.bytes().begin(), out.bytes().end()};
}
inline Bytes skippable_frame(unsigned nibble, std::size_t size) {
  Bytes frame = bytes_of(std::string{static_cast<char>(0x50 + nibble), '\x2A', '\x4D', '\x18'});
  for (unsigned shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<std::byte>(size >> shift));
  frame.resize(8 + size, std::byte{0x28});
  return frame;
}
/// `count` events of every kind, edge values included.
inline EventBatch uniform_events(std::size_t count, std::uint64_t seed, SyntheticMix mix = SyntheticMix::kUniform) {
  const auto source = make_synthetic_source({.seed = seed, .events = count, .mix = mix});
  REQUIRE(source->open());
  REQUIRE(source->start());
  EventBatch events(count);
  EventBatch chunk(512);
  for (bool ended = false; !ended && events.room() > 0;) {
    chunk.clear();
    const auto poll = source->poll(chunk, std::min(events.room(), chunk.room()), {});
    REQUIRE(poll);
    ended = poll->ended;
    for (std::size_t i = 0; i < chunk.size(); ++i) events.append_from(chunk, i);
  }
  return events;
}
/// {"type":"Zzz","x":[1,2,nil]}
inline Bytes unknown_event() {
  return bytes_of("\x82\xa4type\xa3Zzz\xa1x\x93\x01\x02\xc0");
}
inline Bytes encoded(const EventBatch& events, std::size_t begin, std::size_t end) {
  EventEncoder encoder;
  ByteBuffer out;
  encoder.encode(events, begin, end, out);
  return {out.bytes().begin(), out.bytes().end()};
}

/// An artifact of plain frames: where each of them begins, and the end of the last.
struct PlainArtifact {
  Bytes bytes;
  std::vector<std::size_t> starts;
};
inline PlainArtifact plain_artifact(const EventBatch& events, std::size_t frames, bool checksum = true) {
  PlainArtifact made;
  for (std::size_t i = 0; i < frames; ++i) {
    made.starts.push_back(made.bytes.size());
    append(made.bytes,
           frame_of(encoded(events, events.size() * i / frames, events.size() * (i + 1) / frames), checksum));
  }
  made.starts.push_back(made.bytes.size());
  return made;
}
/// Random frames: with and without checksum, skippable and unknown ones between, empty ones too.
inline Bytes random_artifact(std::mt19937_64& random) {
  Bytes made;
  const EventBatch events = uniform_events(400, random());
  for (std::size_t at = 0; at < events.size();) {
    if (random() % 3 == 0) append(made, skippable_frame(static_cast<unsigned>(random() % 16), random() % 30));
    Bytes content;
    for (std::size_t left = random() % 150; left > 0 && at < events.size(); --left, ++at) {
      append(content, encoded(events, at, at + 1));
      if (random() % 10 == 0) append(content, unknown_event());
    }
    append(made, frame_of(content, random() % 2 == 0));
  }
  return made;
}
/// The same events in an artifact with index, as our writer makes it.
inline Bytes indexed_artifact(const SyntheticOptions& synthetic, std::uint32_t frame_events) {
  const TemporaryFolder folder;
  StageLoop loop;
  loop.options.write.directory = folder.path();
  loop.options.batch.events = frame_events;
  const auto source = make_synthetic_source(synthetic);
  return read_file(loop.record(*source).path);
}

/// Everything that a reader gave: the events as text, in order, and how it ended.
struct Reading {
  std::string text;
  ReadOutcome outcome;

  [[nodiscard]] std::string error() const { return outcome.error ? to_string(*outcome.error) : ""; }
};
inline void append_lines(const EventBatch& events, std::string& text) {
  for (std::size_t i = 0; i < events.size(); ++i) append_text(events, i, text);
}
using Reader = std::function<ReadOutcome(const PartConsumer&)>;
inline Reading gather(const Reader& read) {
  Reading reading;
  reading.outcome = read([&reading](const PartView& part) {
    append_lines(part.events, reading.text);
    reading.text += part.text;
    return true;
  });
  return reading;
}

/// The oracle: a full serial reading with codec's cursor, and the lines of it that a selection lets through.
inline Reading oracle(std::span<const std::byte> artifact, const ReadSelection& selection = {}) {
  Reading reading;
  ArtifactCursor cursor(artifact);
  EventBatch batch(512);
  while (true) {
    batch.clear();
    const auto status = cursor.next(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (selection.matches(batch[i])) append_text(batch, i, reading.text);
    }
    if (!status) reading.outcome.error = status.error();
    if (!status || *status == ArtifactCursor::Status::kEnd) break;
  }
  reading.outcome.truncated = !reading.outcome.error && cursor.truncated();
  reading.outcome.counters = cursor.counters();
  return reading;
}

/// Same events, same end.
inline void check_same(const Reading& got, const Reading& wanted) {
  CHECK((got.text == wanted.text));
  CHECK(got.error() == wanted.error());
  CHECK(got.outcome.truncated == wanted.outcome.truncated);
}

}  // namespace memtrack::pipeline
