// EventSource: where events come from. Implemented by preload, bpf, replay and synthetic sources.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/error.h"
#include "codec/event_batch.h"
#include "codec/loss.h"

namespace memtrack::pipeline {

/// How the root process of a capture ended.
struct TargetExit {
  bool signaled = false;
  int code = 0;  ///< exit status, or the signal's number
};

/// A pull interface: the poller asks, the source fills.
///
/// Life: open() -> start() -> poll() until `ended` -> destruction. begin_drain(), set_enabled() between polls.
/// Threads: one thread calls everything, but for request_stop(), which any thread may call at any time after open().
/// Ownership: the batch belongs to the caller; the source keeps no reference to it after poll().
/// Bounds: poll() appends at most `max_events`, stops early where the batch's payload passes 1 MiB, and returns after
/// `timeout` at the latest where nothing comes; it returns at once with what it has when it has something.
/// Errors: a failed poll() is the end of the capture; events that it had appended before are kept.
class EventSource {
 public:
  struct Poll {
    bool drain_reached = false;  ///< everything that was there at begin_drain() has been given
    bool ended = false;          ///< nothing will come any more; events of this poll are the last
  };

  virtual ~EventSource() = default;

  /// Makes everything ready; a target is created, but does not run yet.
  [[nodiscard]] virtual Result<void> open() = 0;
  /// The pid in the artifact's name. After open().
  [[nodiscard]] virtual std::int32_t root_pid() const = 0;
  /// Lets the events (the target) go.
  [[nodiscard]] virtual Result<void> start() = 0;
  [[nodiscard]] virtual Result<Poll> poll(EventBatch& out, std::size_t max_events,
                                          std::chrono::nanoseconds timeout) = 0;
  /// Notes where the source is now; a later poll() says drain_reached once all up to there has been given. Ends even if
  /// the producers never pause.
  virtual void begin_drain() = 0;
  /// No new events from now on; poll() gives what is there and then says ended. The target runs on, untracked.
  virtual void request_stop() = 0;
  /// Tracking on or off (on after start()). When it returns, the cut is exact: no allocation event of before an enable
  /// or after a disable will be given. Process events (Fork, Exec, Exit, Mapping, Rss) are given in any case.
  [[nodiscard]] virtual Result<void> set_enabled(bool enabled) = 0;
  /// Losses so far; final once poll() said ended.
  [[nodiscard]] virtual LossCounters losses() const = 0;
  /// How the root ended; nothing before that, or where the source has no target.
  [[nodiscard]] virtual std::optional<TargetExit> target_exit() const = 0;
  /// Sentences for the summary: what could not be tracked and why, what outlived the capture. After poll() said ended.
  [[nodiscard]] virtual std::vector<std::string> notes() const = 0;
};

}  // namespace memtrack::pipeline
