// StageWatch: lets the one who waits for the end see which stage is inside a step that does not return.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "actors/capture_pipeline.h"

namespace memtrack::actors {

/// One a stage and worker. The stage's thread enters and leaves; any thread looks.
class StageWatch {
 public:
  using Clock = std::chrono::steady_clock;

  StageWatch(StageId stage, std::uint32_t worker) : stage_(stage), worker_(worker) {}

  /// Marks the time between its construction and destruction as one step.
  class Step {
   public:
    explicit Step(StageWatch& watch) : watch_(watch) {
      watch_.since_ns_.store(Clock::now().time_since_epoch().count(), std::memory_order_release);
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { watch_.since_ns_.store(kIdle, std::memory_order_release); }

   private:
    StageWatch& watch_;
  };

  [[nodiscard]] StageId stage() const { return stage_; }
  [[nodiscard]] std::uint32_t worker() const { return worker_; }
  /// When the step began that the stage is in (nanoseconds of the steady clock); kIdle between steps.
  [[nodiscard]] std::int64_t since_ns() const { return since_ns_.load(std::memory_order_acquire); }
  static constexpr std::int64_t kIdle = INT64_MAX;

 private:
  const StageId stage_;
  const std::uint32_t worker_;
  std::atomic<std::int64_t> since_ns_{kIdle};
};

}  // namespace memtrack::actors
