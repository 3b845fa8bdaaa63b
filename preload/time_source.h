// TimeSource: the clocks and the barrier of the machine, so that tests can bring their own.
#pragma once

#include <cstdint>

#include "preload/shared_segment.h"
#include "preload/tick_clock.h"

namespace memtrack::preload {

class TimeSource {
 public:
  virtual ~TimeSource() = default;
  /// The present stamp, as the shim would take it.
  [[nodiscard]] virtual std::uint64_t ticks() = 0;
  /// The present moment in both clocks.
  [[nodiscard]] virtual Anchor anchor() = 0;
  /// Every thread of a registered process has executed a full barrier when this returns.
  virtual void barrier() = 0;
};

/// The clock that stamps are taken from here: the TSC where it is invariant, else CLOCK_MONOTONIC.
[[nodiscard]] mt_clock best_clock();

class MachineTime final : public TimeSource {
 public:
  explicit MachineTime(mt_clock clock) : clock_(clock) {}
  [[nodiscard]] std::uint64_t ticks() override;
  [[nodiscard]] Anchor anchor() override;
  void barrier() override;

 private:
  const mt_clock clock_;
};

}  // namespace memtrack::preload
