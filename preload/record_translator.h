// RecordTranslator: records of a ring to events of an artifact.
#pragma once

#include <array>
#include <cstdint>
#include <string>

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
  void take(RingLane& lane) {
    if (lane.reader.front() != RingReader::Front::kRecord) return take_special(lane);
    const mt_record& record = lane.reader.record();
    if (record.kind <= MT_REALLOC_FRESH && !lane.process->reallocs.empty()) {
      hand_out(*lane.process, record.ticks, record.addr);
    }
    allocation(lane, record.ticks, kKinds[record.kind], record.addr, record.kind == MT_FREE ? 0 : record.value);
  }
  /// Gives an event of the tracker itself: sets its pid and its time.
  void tell(TrackedProcess& process, std::uint64_t ticks, Event event);
  /// The same for a Mapping, unless the process is known to have it.
  void tell_mapping(TrackedProcess& process, std::uint64_t ticks, Event event, const std::string& path);

 private:
  static constexpr std::array<EventKind, MT_RECORD_KIND_COUNT> kKinds = [] {
    std::array<EventKind, MT_RECORD_KIND_COUNT> kinds{};
    kinds[MT_MALLOC] = EventKind::kMalloc;
    kinds[MT_CALLOC] = EventKind::kCalloc;
    kinds[MT_ALIGNED_ALLOC] = EventKind::kAlignedAlloc;
    kinds[MT_REALLOC_FRESH] = EventKind::kRealloc;
    kinds[MT_FREE] = EventKind::kFree;
    kinds[MT_MMAP] = EventKind::kMmap;
    kinds[MT_BRK] = EventKind::kBrk;
    return kinds;
  }();

  void take_special(RingLane& lane);
  void take_begin(RingLane& lane);
  void take_end(RingLane& lane);
  void take_unfinished(RingLane& lane);
  void take_mapping(RingLane& lane);
  void allocation(RingLane& lane, std::uint64_t ticks, EventKind kind, std::uint64_t addr, std::uint64_t size) {
    if (!cuts_.on(ticks)) return;
    Event event{};
    event.timestamp_ns = time(*lane.process, ticks);
    event.addr = addr;
    event.pid = lane.process->pid;
    event.tid = lane.tid;
    event.kind = kind;
    event.alloc.size = size;
    sink_.add(event);
  }
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
