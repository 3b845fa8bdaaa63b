#include "pipeline/compressor.h"

#include <doctest/doctest.h>

#include "codec/event_decoder.h"
#include "codec/frame_decoder.h"
#include "codec/frame_splitter.h"
#include "pipeline/synthetic_source.h"
#include "tests/pipeline/artifact_support.h"

namespace memtrack::pipeline {
namespace {

std::vector<std::byte> content_of(const Frame& frame) {
  FrameSplitter splitter(frame.bytes->bytes());
  const auto found = splitter.next();
  REQUIRE((found && *found));
  CHECK((*found)->size == frame.bytes->size());
  FrameDecoder decoder;
  REQUIRE(decoder.begin(**found, frame.bytes->bytes()));
  std::vector<std::byte> content;
  for (;;) {
    const auto piece = decoder.next();
    REQUIRE(piece);
    if (piece->empty()) return content;
    content.insert(content.end(), piece->begin(), piece->end());
  }
}

EventBatch events_of(std::span<const std::byte> encoded) {
  EventBatch events(100'000);
  DecodeCounters counters;
  const DecodeStep step = decode_events(encoded, events, counters);
  REQUIRE(step.status == DecodeStep::Status::kNeedMore);
  REQUIRE(step.consumed == encoded.size());
  return events;
}

FrameSummary summary_of(const EventBatch& events) {
  FrameSummary summary;
  for (const Event& event : events.events()) summary.add(event);
  return summary;
}

/// The events of the batches in order.
EventBatch events_of(const std::vector<Batch>& batches) {
  EventBatch events(100'000);
  for (const Batch& batch : batches) {
    for (const Slice& slice : batch.slices) {
      for (std::uint32_t i = slice.begin; i < slice.end; ++i) events.append_from(*slice.events, i);
    }
  }
  return events;
}

struct Fixture {
  StageLoop loop;
  std::vector<Batch> batches;

  void batch(std::uint32_t events, MappingPlacement mappings) {
    loop.options.batch.events = events;
    loop.options.write.mappings = mappings;
    batches = loop.batches_of(
        *make_synthetic_source({.events = 20'000, .mix = SyntheticMix::kUniform, .stack_hashes = true}));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a frame holds the events of its batch, and says so in its summary") {
  batch(3000, MappingPlacement::kInline);
  Compressor compressor = loop.compressor();
  EventBatch decoded(100'000);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const auto frame = compressor.compress(batches[b]);
    REQUIRE(frame);
    CHECK(frame->seq == b);
    const auto content = content_of(*frame);
    CHECK(frame->decompressed_bytes == content.size());
    const EventBatch events = events_of(content);
    CHECK(frame->summary == summary_of(events));
    CHECK_FALSE(frame->suffix);
    EventBatch modules(100'000);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (is_module_event(events[i].kind)) modules.append_from(events, i);
      decoded.append_from(events, i);
    }
    REQUIRE(frame->modules);
    CHECK(same_events(modules, events_of(frame->modules->bytes())));
  }
  CHECK(same_events(decoded, events_of(batches)));
}

TEST_CASE_FIXTURE(Fixture, "with mappings = suffix the Mapping events go beside the frame") {
  batch(3000, MappingPlacement::kSuffix);
  Compressor compressor = loop.compressor();
  std::size_t index = 0;
  const EventBatch all = events_of(batches);
  for (const Batch& one : batches) {
    const auto frame = compressor.compress(one);
    REQUIRE(frame);
    EventBatch rest(100'000);
    EventBatch mappings(100'000);
    EventBatch modules(100'000);
    for (std::uint64_t i = 0; i < one.event_count; ++i, ++index) {
      const EventKind kind = all[index].kind;
      (kind == EventKind::kMapping ? mappings : rest).append_from(all, index);
      if (is_module_event(kind) && kind != EventKind::kMapping) modules.append_from(all, index);
    }
    const EventBatch content = events_of(content_of(*frame));
    CHECK(same_events(content, rest));
    CHECK(frame->summary == summary_of(rest));
    REQUIRE(frame->suffix);
    CHECK(same_events(events_of(frame->suffix->bytes()), mappings));
    REQUIRE(frame->modules);
    CHECK(same_events(events_of(frame->modules->bytes()), modules));
  }
}

TEST_CASE_FIXTURE(Fixture, "module events are not collected where nobody wants them") {
  batch(3000, MappingPlacement::kInline);
  loop.options.write.index = false;
  const auto frame = loop.compressor().compress(batches[0]);
  REQUIRE(frame);
  CHECK_FALSE(frame->modules);
}

TEST_CASE_FIXTURE(Fixture, "buffers go back to the pool with the frame") {
  batch(1000, MappingPlacement::kInline);
  Compressor compressor = loop.compressor();
  for (const Batch& one : batches) {
    const auto frame = compressor.compress(one);
    REQUIRE(frame);
    CHECK(held_bytes(*frame) == frame->bytes->size() + frame->modules->size());
  }
  CHECK(loop.buffers.in_use() == 0);
  CHECK(loop.buffers.idle() == 2);
}

TEST_CASE("a level that zstd does not have is refused") {
  BufferPool<ByteBuffer> pool(1, [] { return std::make_unique<ByteBuffer>(); });
  const auto made = Compressor::create({.level = 1000}, MappingPlacement::kInline, true, pool);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == ErrorCode::kInvalidArgument);
}

}  // namespace memtrack::pipeline
