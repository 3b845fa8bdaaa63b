#include "actors/capture_graph.h"

#include <algorithm>
#include <utility>

namespace memtrack::actors {
namespace {

constexpr std::size_t kMaxIdleChunks = 256;

std::uint32_t chunk_events(const pipeline::CaptureOptions& options) {
  return std::min<std::uint32_t>(options.batch.events, pipeline::kChunkEvents);
}

/// Wide enough that every worker has a batch at hand and one in work, and the writer one missing number.
std::uint64_t window_size(const pipeline::CaptureOptions& options) {
  return std::min<std::uint64_t>(2 * std::uint64_t{options.compress.workers} + 2, pipeline::kMaxSequenceWindow);
}

pipeline::QueueLimits limits(const pipeline::CaptureOptions& options) {
  return {.items = options.queue.items, .bytes = options.queue.bytes};
}

}  // namespace

CaptureGraph::CaptureGraph(std::unique_ptr<pipeline::EventSource> new_source,
                           const pipeline::CaptureOptions& new_options, StageHook new_hook,
                           pipeline::ArtifactWriter new_writer)
    : options(new_options),
      hook(std::move(new_hook)),
      source(std::move(new_source)),
      chunk_pool(kMaxIdleChunks, [events = chunk_events(options)] { return std::make_unique<EventBatch>(events); }),
      byte_pool(3 * window_size(options), [] { return std::make_unique<ByteBuffer>(); }),
      window(window_size(options)),
      chunks(limits(options)),
      batches(limits(options)),
      frames(limits(options)),
      poller(*source, chunk_pool, chunk_events(options)),
      poller_output(chunks),
      batcher_input(chunks),
      batcher(options.batch),
      batcher_output(batches),
      compressors_left(options.compress.workers),
      writer_input(frames),
      writer(std::move(new_writer)) {}

Result<std::unique_ptr<CaptureGraph>> CaptureGraph::create(std::unique_ptr<pipeline::EventSource> source,
                                                           const pipeline::CaptureOptions& options, StageHook hook) {
  if (options.compress.workers < 1 || options.compress.workers > 64 || options.batch.events < 1) {
    return std::unexpected(Error{.code = ErrorCode::kInvalidArgument,
                                 .message = "a capture needs 1 to 64 compressors and batches of at least 1 event"});
  }
  if (auto opened = source->open(); !opened) return std::unexpected(opened.error());
  auto writer = pipeline::ArtifactWriter::create(options.write, options.compress, source->root_pid());
  if (!writer) return std::unexpected(writer.error());
  std::unique_ptr<CaptureGraph> graph(
      new CaptureGraph(std::move(source), options, std::move(hook), std::move(*writer)));
  for (std::uint32_t worker = 0; worker < options.compress.workers; ++worker) {
    auto compressor =
        pipeline::Compressor::create(options.compress, options.write.mappings, options.write.index, graph->byte_pool);
    if (!compressor) return std::unexpected(compressor.error());
    graph->compressors.emplace_back(std::move(*compressor), graph->batches, graph->frames, worker);
  }
  return graph;
}

void CaptureGraph::fail(Error error) {
  if (!first_error.set(std::move(error))) return;
  // Closing rings every bell, so a stage that waits for input, room or the window sees the end.
  chunks.close();
  batches.close();
  frames.close();
  window_bell.ring();
  announce([this] {
    if (!ending_since) ending_since = Clock::now();
  });
  if (on_failed) on_failed();
}

void CaptureGraph::fail_stage(const StageWatch& watch, std::string_view what) {
  fail({.code = ErrorCode::kStageFailed,
        .message = "the " + std::string(to_string(watch.stage())) + " failed: " + std::string(what)});
}

pipeline::CaptureCounters CaptureGraph::counters() const {
  pipeline::CaptureCounters now;
  now.events_polled = live.events_polled.load(std::memory_order_relaxed);
  now.chunks = live.chunks.load(std::memory_order_relaxed);
  now.batches = live.batches.load(std::memory_order_relaxed);
  now.events_written = live.events_written.load(std::memory_order_relaxed);
  now.frames_written = live.frames_written.load(std::memory_order_relaxed);
  now.raw_bytes = live.raw_bytes.load(std::memory_order_relaxed);
  now.file_bytes = live.file_bytes.load(std::memory_order_relaxed);
  now.queue_full = live.queue_full.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    now.losses.by_cause[i] = live.losses[i].load(std::memory_order_relaxed);
  }
  return now;
}

void CaptureGraph::publish_losses(const LossCounters& losses) {
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    live.losses[i].store(losses.by_cause[i], std::memory_order_relaxed);
  }
}

void CaptureGraph::publish_totals(const pipeline::ArtifactWriter::Totals& totals) {
  live.events_written.store(totals.events, std::memory_order_relaxed);
  live.frames_written.store(totals.frames, std::memory_order_relaxed);
  live.raw_bytes.store(totals.raw_bytes, std::memory_order_relaxed);
  live.file_bytes.store(totals.file_bytes, std::memory_order_relaxed);
}

}  // namespace memtrack::actors
