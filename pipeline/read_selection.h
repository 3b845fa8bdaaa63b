// ReadSelection: which events a reader wants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "codec/event.h"
#include "codec/event_encoder.h"

namespace memtrack::pipeline {

/// Passive data. An event is selected where all of it agrees; by default every event is. A selected read gives exactly
/// the events of a full one that matches() holds for, in the same order.
struct ReadSelection {
  KindSet kinds = kAllKinds;
  std::vector<std::int32_t> pids = {};                                 ///< empty: of all processes
  std::uint64_t since_ns = 0;                                          ///< time stamps from here
  std::uint64_t until_ns = std::numeric_limits<std::uint64_t>::max();  ///< to here, both included

  /// Mapping, Fork and Exec.
  [[nodiscard]] static ReadSelection modules() { return {.kinds = kModuleKinds}; }

  [[nodiscard]] bool selects_by_kind() const { return (kinds & kAllKinds) != kAllKinds; }
  [[nodiscard]] bool selects_by_value() const {
    return !pids.empty() || since_ns > 0 || until_ns != std::numeric_limits<std::uint64_t>::max();
  }
  /// No event but module events can match.
  [[nodiscard]] bool only_modules() const { return (kinds & ~kModuleKinds) == 0; }

  [[nodiscard]] bool matches(const Event& event) const {
    return (kinds & kind_bit(event.kind)) != 0 && event.timestamp_ns >= since_ns && event.timestamp_ns <= until_ns &&
           (pids.empty() || std::ranges::find(pids, event.pid) != pids.end());
  }
  /// False where no event of a frame with this summary can match.
  [[nodiscard]] bool may_match(const FrameSummary& frame) const {
    return frame.event_count > 0 && (frame.kinds & kinds) != 0 && frame.last_timestamp_ns >= since_ns &&
           frame.first_timestamp_ns <= until_ns;
  }
};

}  // namespace memtrack::pipeline
