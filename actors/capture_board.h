// CaptureBoard: where a caller's thread waits for what the actors have to tell it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "codec/error.h"
#include "pipeline/artifact_writer.h"
#include "pipeline/counters.h"

namespace memtrack::actors {

/// The reply to a request.
struct Answer {
  std::optional<Error> error = {};
  pipeline::CaptureCounters counters = {};
};

/// How a capture ended: every stage has stopped.
struct CaptureEnd {
  std::optional<Error> error = {};
  pipeline::ArtifactWriter::Totals written = {};  ///< where there was no error
};

/// Tickets for requests, and the two facts that end waiting: "it is going to end" and "it has ended".
///
/// A caller waits here on a condition variable with a time limit, not in an actor: whatever stage is stuck, the
/// caller's thread comes back in time to name it. Threads: any. Bounds: as many tickets as there are callers.
class CaptureBoard {
 public:
  using Clock = std::chrono::steady_clock;

  // For callers.
  [[nodiscard]] std::uint64_t open_ticket();
  /// The answer; nothing where `until` passes first or, with `end_counts`, the capture ends first. Closes the ticket:
  /// an answer that comes later is dropped.
  [[nodiscard]] std::optional<Answer> await_answer(std::uint64_t ticket, Clock::time_point until, bool end_counts);
  [[nodiscard]] std::optional<CaptureEnd> end() const;
  [[nodiscard]] std::optional<CaptureEnd> await_end(Clock::time_point until);
  /// Waits for the end as long as the source lives and nothing has failed, then at most `grace`; nothing where that
  /// passes.
  [[nodiscard]] std::optional<CaptureEnd> await_end_after_source(Clock::duration grace);
  /// Waits until await_end_after_source(grace) would return at once (the end, or the grace is over), but not longer
  /// than `until`. True if so.
  [[nodiscard]] bool await_ending(Clock::time_point until, Clock::duration grace);

  // For actors.
  void answer(std::uint64_t ticket, Answer answer);
  /// The source has said its end, or a stage has failed: from now on the grace runs.
  void note_ending();
  void finish(CaptureEnd end);

  /// `now` + `wait`, without overflow.
  [[nodiscard]] static Clock::time_point after(Clock::time_point now, std::chrono::nanoseconds wait);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ticket_ = 1;
  std::map<std::uint64_t, std::optional<Answer>> tickets_;  // open ones
  std::optional<Clock::time_point> ending_since_;           // the source ended, or a stage failed
  std::optional<CaptureEnd> end_;
};

}  // namespace memtrack::actors
