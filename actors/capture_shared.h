// CaptureShared: what the stage actors of one capture share; the data plane, without CAF.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "actors/capture_board.h"
#include "actors/capture_pipeline.h"
#include "actors/hop.h"
#include "actors/live_counters.h"
#include "actors/stage_watch.h"
#include "pipeline/artifact_writer.h"
#include "pipeline/batch.h"
#include "pipeline/batcher.h"
#include "pipeline/bounded_queue.h"
#include "pipeline/buffer_pool.h"
#include "pipeline/capture_options.h"
#include "pipeline/compressor.h"
#include "pipeline/doorbell.h"
#include "pipeline/event_source.h"
#include "pipeline/first_error.h"
#include "pipeline/poller.h"
#include "pipeline/sequence_window.h"

namespace memtrack::actors {

/// Owns the source, the stages and the queues between them.
///
/// How to use: create(), then hand it to a CaptureGraph, whose actors drive it.
/// Ownership: outlives the actors. Actors hold references only, so none keeps another one or itself alive.
/// Threads: a stage and its handles belong to that stage's actor; the rest says for itself.
struct CaptureShared {
  [[nodiscard]] static Result<std::unique_ptr<CaptureShared>> create(std::unique_ptr<pipeline::EventSource> source,
                                                                     const pipeline::CaptureOptions& options,
                                                                     StageHook hook);

  /// A stage's failure. The first one is what the capture ends with; what is upstream of a failed stage stops. The
  /// supervisor must hear of it too (message `failed`). Any thread.
  void fail(StageId stage, Error error);
  /// Asks the source for its end; what that throws is the poller's failure. Any thread.
  void stop_source();
  /// True where this stage has to stop without looking at its input: it, or a stage downstream of it, has failed. Where
  /// only an upstream stage has failed, a stage goes on until its input is drained, so that what was recorded before
  /// the failure reaches the disk. Any thread.
  [[nodiscard]] bool must_stop(StageId stage) const {
    return last_failed_.load(std::memory_order_seq_cst) >= static_cast<int>(stage);
  }
  void call_hook(StageId stage, std::uint32_t worker, std::uint64_t seq) const {
    if (hook) hook(stage, worker, seq);
  }
  [[nodiscard]] StageWatch& watch(StageId stage, std::uint32_t worker) { return watches[watch_index(stage, worker)]; }
  /// Which stage is stuck, in a sentence; `what` did not end in time. Any thread.
  [[nodiscard]] Error stuck_error(std::string_view what) const;

  // Destruction runs from the last member to the first: stages and handles before what they point to.
  const pipeline::CaptureOptions options;
  const StageHook hook;
  const std::unique_ptr<pipeline::EventSource> source;
  pipeline::BufferPool<EventBatch> event_pool;
  pipeline::BufferPool<ByteBuffer> byte_pool;
  Hop<pipeline::Chunk> chunks;                  // poller -> batcher
  Hop<pipeline::Batch> batches;                 // batcher -> compressors
  Hop<pipeline::Frame> frames;                  // compressors -> writer
  pipeline::SequenceWindow window;              // how many batches may be between the batcher's number and the file
  pipeline::Doorbell window_bell;               // of the batcher, when the window may have moved
  std::atomic<std::uint32_t> live_compressors;  // the last one to stop closes `frames`
  pipeline::Poller poller;
  pipeline::Batcher batcher;
  std::vector<pipeline::Compressor> compressors;
  pipeline::ArtifactWriter writer;
  pipeline::FirstError first_error;
  LiveCounters counters;
  std::vector<StageWatch> watches;
  CaptureBoard board;

 private:
  CaptureShared(std::unique_ptr<pipeline::EventSource> event_source, const pipeline::CaptureOptions& capture_options,
                StageHook stage_hook, pipeline::ArtifactWriter artifact_writer);
  [[nodiscard]] static std::size_t watch_index(StageId stage, std::uint32_t worker);

  std::atomic<int> last_failed_{-1};  // the most downstream stage that failed
};

}  // namespace memtrack::actors
