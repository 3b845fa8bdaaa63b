#include "perf/artifact_maker.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <zstd.h>

#include "codec/byte_buffer.h"
#include "codec/event_encoder.h"
#include "codec/frame_encoder.h"
#include "pipeline/synthetic_source.h"

namespace memtrack::perf {
namespace {

constexpr int kPlainLevel = -5;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "benchmark input: %s\n", what);
  std::exit(1);
}

std::vector<std::byte> plain_frame(std::span<const std::byte> content) {
  const std::unique_ptr<ZSTD_CCtx, decltype([](ZSTD_CCtx* context) { ZSTD_freeCCtx(context); })> zstd(
      ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_compressionLevel, kPlainLevel);
  std::vector<std::byte> frame(ZSTD_compressBound(content.size()));
  ZSTD_inBuffer in = {content.data(), content.size(), 0};
  ZSTD_outBuffer out = {frame.data(), frame.size(), 0};
  // Two steps: a single one that ends the frame would know the content's size.
  while (in.pos < in.size) {
    if (ZSTD_isError(ZSTD_compressStream2(zstd.get(), &out, &in, ZSTD_e_continue)) != 0) die("compressing failed");
  }
  if (ZSTD_compressStream2(zstd.get(), &out, &in, ZSTD_e_end) != 0) die("ending a frame failed");
  frame.resize(out.pos);
  return frame;
}

std::vector<std::byte> our_frame(std::span<const std::byte> content) {
  auto encoder = FrameEncoder::create();
  ByteBuffer frame;
  if (!encoder || !encoder->encode(content, frame)) die("compressing failed");
  return {frame.bytes().begin(), frame.bytes().end()};
}

}  // namespace

EventBatch realistic_events(std::size_t count, bool stack_hashes) {
  auto source = pipeline::make_synthetic_source({.seed = kSeed, .events = count, .stack_hashes = stack_hashes});
  EventBatch events(count);
  if (!source->open() || !source->start()) die("the synthetic source does not start");
  while (true) {
    const auto poll = source->poll(events, 4096, std::chrono::nanoseconds(0));
    if (!poll) die("the synthetic source failed");
    if (poll->ended) return events;
  }
}

Contents encode_frames(const EventBatch& events) {
  Contents contents;
  EventEncoder encoder;
  ByteBuffer content;
  for (std::size_t begin = 0; begin < events.size(); begin += kEventsPerFrame) {
    content.clear();
    encoder.encode(events, begin, std::min(events.size(), begin + kEventsPerFrame), content);
    contents.bytes.insert(contents.bytes.end(), content.bytes().begin(), content.bytes().end());
    contents.ends.push_back(contents.bytes.size());
  }
  return contents;
}

Artifact make_artifact(Writer writer, bool stack_hashes) {
  const EventBatch events = realistic_events(kFrames * kEventsPerFrame, stack_hashes);
  const Contents contents = encode_frames(events);
  Artifact artifact;
  artifact.events = events.size();
  artifact.content_bytes = contents.bytes.size();
  for (const Event& event : events.events()) artifact.module_events += is_module_event(event.kind) ? 1 : 0;
  for (std::size_t i = 0; i < contents.ends.size(); ++i) {
    const auto content = contents.frame(i);
    const auto frame = writer == Writer::kPlain ? plain_frame(content) : our_frame(content);
    artifact.bytes.insert(artifact.bytes.end(), frame.begin(), frame.end());
    artifact.ends.push_back(artifact.bytes.size());
    artifact.largest_content = std::max<std::uint64_t>(artifact.largest_content, content.size());
  }
  return artifact;
}

}  // namespace memtrack::perf
