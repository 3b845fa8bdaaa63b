// RecordTranslator: records of a ring to events of an artifact.
#pragma once

#include <cstdint>

#include "preload/enable_cuts.h"
#include "preload/event_sink.h"
#include "preload/tick_clock.h"
#include "preload/tracked_process.h"

namespace memtrack::preload {

/// Knows what the pairs of *_BEGIN and *_END mean. Times of a process never decrease.
/// Ownership: clock, cuts and sink must outlive it.
class RecordTranslator {
 public:
  RecordTranslator(TickClock& clock, EnableCuts& cuts, EventSink& sink) : clock_(clock), cuts_(cuts), sink_(sink) {}

  /// Gives what the front of the lane's reader stands for: no event, one, or more. Does not pop.
  void take(RingLane& lane);
  /// Gives an event of the tracker itself: sets its pid and its time.
  void tell(TrackedProcess& process, std::uint64_t ticks, Event event);
  /// The same for a Mapping, unless the process is known to have it.
  void tell_mapping(TrackedProcess& process, std::uint64_t ticks, Event event, const std::string& path);

 private:
  void take_begin(RingLane& lane);
  void take_end(RingLane& lane);
  void take_unfinished(RingLane& lane);
  void take_mapping(RingLane& lane);
  void allocation(RingLane& lane, std::uint64_t ticks, EventKind kind, std::uint64_t addr, std::uint64_t size);
  void realloc(TrackedProcess& process, std::uint64_t ticks, const ReallocLedger::Entry& entry);
  void hand_out(TrackedProcess& process, std::uint64_t ticks, std::uint64_t addr);
  [[nodiscard]] std::uint64_t time(TrackedProcess& process, std::uint64_t ticks) {
    const std::uint64_t ns = clock_.to_ns(ticks);
    if (ns > process.last_ns) process.last_ns = ns;
    return process.last_ns;
  }

  TickClock& clock_;
  EnableCuts& cuts_;
  EventSink& sink_;
};

}  // namespace memtrack::preload
