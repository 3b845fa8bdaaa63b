// CaptureGraph: what the actors of one capture share: stages, queues, window, errors, counters. Internal to actors/.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/capture_pipeline.h"
#include "actors/stage_watch.h"
#include "pipeline/artifact_writer.h"
#include "pipeline/batcher.h"
#include "pipeline/bounded_queue.h"
#include "pipeline/compressor.h"
#include "pipeline/first_error.h"
#include "pipeline/poller.h"
#include "pipeline/sequence_window.h"

namespace memtrack::actors {

using ChunkQueue = pipeline::BoundedQueue<pipeline::Chunk>;
using BatchQueue = pipeline::BoundedQueue<pipeline::Batch>;
using FrameQueue = pipeline::BoundedQueue<pipeline::Frame>;

/// The counters while the capture runs; each written by one stage, read by anybody.
struct LiveCounters {
  std::atomic<std::uint64_t> events_polled{0};
  std::atomic<std::uint64_t> chunks{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> events_written{0};
  std::atomic<std::uint64_t> frames_written{0};
  std::atomic<std::uint64_t> raw_bytes{0};
  std::atomic<std::uint64_t> file_bytes{0};
  std::atomic<std::uint64_t> queue_full{0};
  std::array<std::atomic<std::uint64_t>, kLossCauseCount> losses{};
};

/// One compressor with its ends of the queues.
struct CompressorSeat {
  CompressorSeat(pipeline::Compressor compressor, BatchQueue& batches, FrameQueue& frames, std::uint32_t worker)
      : stage(std::move(compressor)), input(batches), output(frames), watch(StageId::kCompressor, worker) {}
  pipeline::Compressor stage;
  BatchQueue::Consumer input;
  FrameQueue::Producer output;
  StageWatch watch;
};

/// Members of a stage are touched by the thread of its actor only, from start to end. Everything is declared before
/// what refers to it: handles die before their queues, stages before their pools and the source.
class CaptureGraph {
 public:
  using Clock = StageWatch::Clock;

  static Result<std::unique_ptr<CaptureGraph>> create(std::unique_ptr<pipeline::EventSource> source,
                                                      const pipeline::CaptureOptions& options, StageHook hook);

  /// Keeps the error if it is the first, closes every queue so that all stages end, tells on_failed. Any thread.
  void fail(Error error);
  [[nodiscard]] bool failed() const { return first_error.get() != nullptr; }
  /// Runs one step of a stage: watches it, calls the hook, turns what is thrown into the capture's failure.
  /// False: it failed, and the stage must end.
  template <class Work>
  bool run_step(StageWatch& watch, std::uint64_t seq, Work&& work) {
    const StageWatch::Step step(watch);
    try {
      if (hook) hook(watch.stage(), watch.worker(), seq);
      Result<void> done = work();
      if (done) return true;
      fail(std::move(done.error()));
    } catch (const std::exception& exception) {
      fail_stage(watch, exception.what());
    } catch (...) {
      fail_stage(watch, "something that is no std::exception was thrown");
    }
    return false;
  }

  [[nodiscard]] pipeline::CaptureCounters counters() const;
  void publish_losses(const LossCounters& losses);
  void publish_totals(const pipeline::ArtifactWriter::Totals& totals);

  /// Tells the waiting caller about something; `change` runs under the lock.
  template <class Change>
  void announce(Change&& change) {
    {
      const std::scoped_lock lock(mutex);
      change();
    }
    changed.notify_all();
  }

  const pipeline::CaptureOptions options;
  const StageHook hook;
  std::function<void()> on_failed = {};  // set before the start

  const std::unique_ptr<pipeline::EventSource> source;
  pipeline::BufferPool<EventBatch> chunk_pool;
  pipeline::BufferPool<ByteBuffer> byte_pool;
  pipeline::SequenceWindow window;
  pipeline::Doorbell window_bell{/*armed=*/false};  // the batcher waits for the writer's progress here
  ChunkQueue chunks;
  BatchQueue batches;
  FrameQueue frames;

  pipeline::Poller poller;
  ChunkQueue::Producer poller_output;
  StageWatch poller_watch{StageId::kPoller, 0};
  ChunkQueue::Consumer batcher_input;
  pipeline::Batcher batcher;
  BatchQueue::Producer batcher_output;
  StageWatch batcher_watch{StageId::kBatcher, 0};
  std::deque<CompressorSeat> compressors;
  std::atomic<std::uint32_t> compressors_left;
  FrameQueue::Consumer writer_input;
  pipeline::ArtifactWriter writer;
  StageWatch writer_watch{StageId::kWriter, 0};

  pipeline::FirstError first_error;
  LiveCounters live;

  // What callers wait for; guarded by `mutex`, announced by `changed`.
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;                                   // every stage has ended
  std::optional<Clock::time_point> ending_since = {};  // the source has ended, or the capture failed
  std::uint64_t drained_ticket = 0;                    // drains up to this one are on disk
  std::string path = {};                               // of the finished artifact
  std::optional<pipeline::TargetExit> target_exit = {};
  std::vector<std::string> notes = {};

 private:
  CaptureGraph(std::unique_ptr<pipeline::EventSource> source, const pipeline::CaptureOptions& options, StageHook hook,
               pipeline::ArtifactWriter writer);
  void fail_stage(const StageWatch& watch, std::string_view what);
};

}  // namespace memtrack::actors
