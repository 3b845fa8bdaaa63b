#include "actors/capture_shared.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace memtrack::actors {
namespace {

using pipeline::CaptureOptions;

constexpr std::uint32_t kMaxBatchEvents = 1u << 20;
constexpr std::uint32_t kMaxWorkers = 64;

Result<void> check(const CaptureOptions& options) {
  if (options.batch.events < 1 || options.batch.events > kMaxBatchEvents) {
    return std::unexpected(invalid_argument("a batch must have 1 to 1048576 events"));
  }
  if (options.batch.bytes < 1) return std::unexpected(invalid_argument("a batch must be allowed 1 byte at least"));
  if (options.queue.items < 1 || options.queue.items > pipeline::QueueCredits::kMaxItems) {
    return std::unexpected(invalid_argument("a queue must have room for 1 to 8388607 items"));
  }
  if (options.queue.bytes < 1 || options.queue.bytes > pipeline::QueueCredits::kMaxBytes) {
    return std::unexpected(invalid_argument("a queue must have room for 1 to 1099511627775 bytes"));
  }
  if (options.compress.workers < 1 || options.compress.workers > kMaxWorkers) {
    return std::unexpected(invalid_argument("there must be 1 to 64 compressors"));
  }
  if (options.poll_interval.count() <= 0) return std::unexpected(invalid_argument("the poll interval must be over 0"));
  if (options.batch.flush_interval.count() < 0)
    return std::unexpected(invalid_argument("the flush interval must not be below 0"));
  if (options.shutdown_deadline.count() <= 0)
    return std::unexpected(invalid_argument("the shutdown deadline must be over 0"));
  return {};
}

/// Enough batches for every compressor to have one in hand and one at hand.
std::uint64_t window_size(const CaptureOptions& options) {
  return 2 * std::uint64_t{options.compress.workers} + 2;
}

/// Chunks no larger than a batch: with small batches little is under way.
std::uint32_t chunk_events(const CaptureOptions& options) {
  return std::min<std::uint32_t>(options.batch.events, pipeline::kChunkEvents);
}

/// As many chunk buffers as are ever in flight where chunks are full: in the first queue, in the batch that is being
/// gathered, and in those of the window.
std::size_t idle_chunks(const CaptureOptions& options) {
  const std::size_t per_batch = options.batch.events / pipeline::kChunkEvents + 2;
  return std::min<std::size_t>(options.queue.items, 64) + per_batch * (window_size(options) + 1);
}

pipeline::QueueLimits limits_of(const pipeline::QueueOptions& options) {
  return {.items = options.items, .bytes = options.bytes};
}

std::string seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

std::string_view to_string(StageId stage) {
  switch (stage) {
    case StageId::kPoller:
      return "poller";
    case StageId::kBatcher:
      return "batcher";
    case StageId::kCompressor:
      return "compressor";
    case StageId::kWriter:
      return "writer";
  }
  return "unknown stage";
}

CaptureShared::CaptureShared(std::unique_ptr<pipeline::EventSource> event_source, const CaptureOptions& capture_options,
                             StageHook stage_hook, pipeline::ArtifactWriter artifact_writer)
    : options(capture_options),
      hook(std::move(stage_hook)),
      source(std::move(event_source)),
      event_pool(idle_chunks(options),
                 [events = chunk_events(options)] { return std::make_unique<EventBatch>(events); }),
      byte_pool(2 * window_size(options), [] { return std::make_unique<ByteBuffer>(); }),
      chunks(limits_of(options.queue), 1, 1),
      batches(limits_of(options.queue), 1, options.compress.workers),
      frames(limits_of(options.queue), options.compress.workers, 1),
      window(window_size(options)),
      window_bell(/*armed=*/false),
      live_compressors(options.compress.workers),
      poller(*source, event_pool, chunk_events(options)),
      batcher(options.batch),
      writer(std::move(artifact_writer)),
      watches(3 + options.compress.workers) {}

Result<std::unique_ptr<CaptureShared>> CaptureShared::create(std::unique_ptr<pipeline::EventSource> source,
                                                             const CaptureOptions& options, StageHook hook) {
  if (auto checked = check(options); !checked) return std::unexpected(std::move(checked.error()));
  if (auto opened = source->open(); !opened) return std::unexpected(std::move(opened.error()));
  auto writer = pipeline::ArtifactWriter::create(options.write, options.compress, source->root_pid());
  if (!writer) return std::unexpected(std::move(writer.error()));
  std::unique_ptr<CaptureShared> shared(
      new CaptureShared(std::move(source), options, std::move(hook), std::move(*writer)));
  for (std::uint32_t i = 0; i < options.compress.workers; ++i) {
    auto compressor =
        pipeline::Compressor::create(options.compress, options.write.mappings, options.write.index, shared->byte_pool);
    if (!compressor) return std::unexpected(std::move(compressor.error()));
    shared->compressors.push_back(std::move(*compressor));
  }
  return shared;
}

void CaptureShared::stop_source() {
  std::string what;
  try {
    source->request_stop();
    return;
  } catch (const std::exception& exception) {
    what = exception.what();
  } catch (...) {
    what = "an exception of unknown type";
  }
  fail(StageId::kPoller,
       {.code = ErrorCode::kStageFailed, .message = "the source could not be asked to stop: " + what});
}

void CaptureShared::fail(StageId stage, Error error) {
  first_error.set(std::move(error));
  // After the error: a stage that stops because of it finds it there.
  const int failed = static_cast<int>(stage);
  int last = last_failed_.load(std::memory_order_seq_cst);
  while (last < failed && !last_failed_.compare_exchange_weak(last, failed, std::memory_order_seq_cst)) {
  }
  board.note_ending();
}

std::size_t CaptureShared::watch_index(StageId stage, std::uint32_t worker) {
  switch (stage) {
    case StageId::kPoller:
      return 0;
    case StageId::kBatcher:
      return 1;
    case StageId::kWriter:
      return 2;
    case StageId::kCompressor:
      return 3 + worker;
  }
  std::unreachable();
}

Error CaptureShared::stuck_error(std::string_view what) const {
  const auto now = StageWatch::Clock::now();
  struct Stage {
    StageId id;
    std::uint32_t worker;
  };
  std::vector<Stage> stages = {{StageId::kPoller, 0}, {StageId::kBatcher, 0}};
  for (std::uint32_t i = 0; i < options.compress.workers; ++i) stages.push_back({StageId::kCompressor, i});
  stages.push_back({StageId::kWriter, 0});

  // The others wait for the stuck one outside of their steps. Where nobody is in a step, the first that still runs is
  // what the others wait for.
  const Stage* stuck = nullptr;
  auto longest = StageWatch::Clock::duration(-1);
  for (const Stage& stage : stages) {
    const StageWatch& watch = watches[watch_index(stage.id, stage.worker)];
    if (watch.stopped() || watch.in_step(now) <= longest) continue;
    longest = watch.in_step(now);
    stuck = &stage;
  }
  std::string message = std::string(what) + " did not end within " + seconds(options.shutdown_deadline) + ": ";
  if (stuck == nullptr) {
    message += "every stage has stopped, but the supervisor has not heard of it";
  } else {
    message += "the " + std::string(to_string(stuck->id));
    if (options.compress.workers > 1 && stuck->id == StageId::kCompressor)
      message += " " + std::to_string(stuck->worker);
    message += longest.count() > 0 ? " is stuck, for " + seconds(longest) + " in one step" : " has not come to its end";
  }
  if (const Error* first = first_error.get()) message += " (after an error: " + to_string(*first) + ")";
  return Error{.code = ErrorCode::kStageStuck, .message = std::move(message)};
}

}  // namespace memtrack::actors
