// CapturePipeline: the whole write side, source to artifact, as a graph of actors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/error.h"
#include "pipeline/capture_options.h"
#include "pipeline/counters.h"
#include "pipeline/event_source.h"

namespace memtrack::actors {

enum class StageId : std::uint8_t { kPoller, kBatcher, kCompressor, kWriter };
[[nodiscard]] std::string_view to_string(StageId stage);

/// Called by a stage's own thread right before it works on an item; for tracing and for fault injection. `worker` is
/// the compressor's number, else 0. What it throws counts as the stage's failure.
using StageHook = std::function<void(StageId stage, std::uint32_t worker, std::uint64_t seq)>;

struct CaptureSummary {
  pipeline::CaptureCounters counters = {};
  std::string path = {};  ///< of the artifact
  std::optional<pipeline::TargetExit> target = {};
  std::vector<std::string> notes = {};
};

/// Owns a source, the stages, the queues between them and the CAF actors that drive them.
///
/// How to use: create(), start(), then wait() for the source's own end or shutdown() to end it now; in between drain(),
/// set_enabled(), stats(), ping(). Destruction without either shuts down.
/// Promises: every hop is bounded; what was polled is on disk when drain() or shutdown() returns, or the error says
/// what failed; after a failure earlier frames are readable in the `.part` and the source was told to stop.
/// Threads: any one thread may call at a time; ping() and stats() any thread.
/// Time: wait() as long as the source lives, then at most the shutdown deadline; shutdown() and drain() at most the
/// deadline. When it passes, the error (kStageStuck) names the stage that is stuck; its thread can't be joined, so the
/// destructor waits for it again for ever: a program ends with std::_Exit then, a test lets the stage go first.
class CapturePipeline {
 public:
  /// Opens the source and the artifact; nothing runs yet.
  [[nodiscard]] static Result<std::unique_ptr<CapturePipeline>> create(std::unique_ptr<pipeline::EventSource> source,
                                                                       const pipeline::CaptureOptions& options,
                                                                       StageHook hook = {});
  ~CapturePipeline();

  /// Starts the source (the target runs from here on) and the polling.
  [[nodiscard]] Result<void> start();
  /// Everything the source had at the call is on disk when it returns; capture goes on.
  [[nodiscard]] Result<pipeline::CaptureCounters> drain();
  [[nodiscard]] Result<void> set_enabled(bool enabled);
  [[nodiscard]] pipeline::CaptureCounters stats() const;
  /// The supervisor answers within `timeout`.
  [[nodiscard]] bool ping(std::chrono::nanoseconds timeout = std::chrono::seconds(1));
  /// True once the source has ended and everything is written, the capture failed, or the deadline has passed since the
  /// source's end: wait() then answers at once. Never blocks longer than `timeout`.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds timeout);
  /// Blocks until the source ends by itself and the artifact is complete.
  [[nodiscard]] Result<CaptureSummary> wait();
  /// Stops the source, drains what is left, completes the artifact.
  [[nodiscard]] Result<CaptureSummary> shutdown();

 private:
  struct State;
  explicit CapturePipeline(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace memtrack::actors
