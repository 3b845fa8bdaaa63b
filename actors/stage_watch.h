// StageWatch: what a stage's thread is doing, for whoever must name the one that is stuck.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace memtrack::actors {

/// Written by one stage's thread, read by any. Costs two relaxed stores and one clock read a step.
/// How to use: `const auto step = watch.enter();` around everything that may take long; stop() at the stage's end.
class StageWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// While it lives, the stage is in a step.
  class Step {
   public:
    Step(StageWatch& watch, Clock::time_point now) : watch_(watch) { watch_.store(now.time_since_epoch().count()); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { watch_.store(kIdle); }

   private:
    StageWatch& watch_;
  };

  [[nodiscard]] Step enter() { return Step(*this, Clock::now()); }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  /// How long the current step has taken until `now`; zero where the stage is idle.
  [[nodiscard]] Clock::duration in_step(Clock::time_point now) const {
    const Clock::rep since = since_.load(std::memory_order_relaxed);
    return since == kIdle ? Clock::duration::zero() : now.time_since_epoch() - Clock::duration(since);
  }

 private:
  static constexpr Clock::rep kIdle = 0;
  void store(Clock::rep since) { since_.store(since, std::memory_order_relaxed); }

  alignas(64) std::atomic<Clock::rep> since_{kIdle};
  std::atomic<bool> stopped_{false};
};

}  // namespace memtrack::actors
