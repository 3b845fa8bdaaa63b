// Sampler: looks at live processes now and then, for what no hook tells: resident memory, and mappings that were there
// before the shim or were made around it.
#pragma once

#include <cstdint>

#include "preload/process_probe.h"
#include "preload/tracked_process.h"

namespace memtrack::preload {

/// Bounds: its own cost. Where a round takes long (many processes), the next one comes later than the interval says, so
/// that sampling stays below a twentieth of the time.
class Sampler {
 public:
  /// `interval_ns` 0: one look at the mappings of each image, no resident memory.
  Sampler(ProcessProbe& probe, std::uint64_t interval_ns) : probe_(probe), interval_ns_(interval_ns) {}

  [[nodiscard]] bool due(std::uint64_t now_ns) const { return interval_ns_ != 0 && now_ns >= next_ns_; }
  /// When the next round is due, if not at once; UINT64_MAX: never.
  [[nodiscard]] std::uint64_t next_ns() const { return interval_ns_ == 0 ? UINT64_MAX : next_ns_; }
  void finish_round(std::uint64_t began_ns, std::uint64_t ended_ns);
  /// Adds what is new to the process's notes.
  void sample(TrackedProcess& process, std::uint64_t ticks);

 private:
  static constexpr std::uint32_t kIdleRounds = 10;
  static constexpr std::size_t kMaxNotes = 65'536;  // of a process that is held back; then it is not sampled
  void sample_mappings(TrackedProcess& process, std::uint64_t ticks);
  void sample_resident(TrackedProcess& process, std::uint64_t ticks);

  ProcessProbe& probe_;
  std::uint64_t interval_ns_;
  std::uint64_t next_ns_ = 0;
};

}  // namespace memtrack::preload
