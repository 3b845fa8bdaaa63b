#include "preload/record_merger.h"

#include <algorithm>

#include "preload/futex.h"

namespace memtrack::preload {
namespace {

/// A key must be below this to be below the limit.
constexpr std::uint64_t limit_key(std::uint64_t limit) {
  return limit == kNoLimit ? UINT64_MAX : limit << 1;
}

Event process_event(EventKind kind, std::int32_t pid) {
  Event event{};
  event.kind = kind;
  event.tid = pid;
  return event;
}

}  // namespace

RecordMerger::RecordMerger(const SegmentView& segment, TimeSource& time, ProcessProbe& probe, const Options& options)
    : segment_(segment),
      time_(time),
      probe_(probe),
      cuts_(options.start_enabled),
      translator_(clock_, cuts_, sink_),
      sampler_(probe, options.rss_interval_ns),
      table_(segment, time, probe) {
  const Anchor now = time_.anchor();
  clock_.add(now);
  now_ns_ = now.ns;
}

bool RecordMerger::has_news() {
  return table_.has_news() || sampler_.due(time_.anchor().ns);
}

std::uint64_t RecordMerger::ns_to_next_sample() {
  const std::uint64_t now = time_.anchor().ns;
  const std::uint64_t next = sampler_.next_ns();
  return next > now ? next - now : 0;
}

void RecordMerger::sweep() {
  const Anchor now = time_.anchor();
  ++sweeps_;
  now_ns_ = now.ns;
  taken_ = 0;
  table_.begin_sweep(now);
  if (sampler_.due(now.ns)) sample(now);
  low_water_ = time_.ticks();
  time_.barrier();
  table_.scan(low_water_);
  for (TrackedProcess* process : table_.take_new()) {
    root_had_image_ = root_had_image_ || process->root;
    sampler_.sample(*process, time_.ticks());
  }
  clock_.add(time_.anchor());  // after the last stamp that this sweep may give

  heap_.clear();
  table_.ready().clear();
  for (const auto& process : table_.processes()) {
    table_.ready().push_back(&process->notes);
    if (process->images.empty() || !process->images.front()->begun) continue;
    for (RingLane* lane : process->images.front()->lanes) table_.ready().push_back(lane);
  }
  start_ready_lanes();
  for (const auto& process : table_.processes()) table_.settle(*process);
  start_ready_lanes();
  forget_cuts();
}

void RecordMerger::sample(const Anchor& now) {
  for (const auto& process : table_.processes()) {
    if (process->born && process->had_image) sampler_.sample(*process, time_.ticks());
  }
  sampler_.finish_round(now.ns, time_.anchor().ns);
}

void RecordMerger::start_ready_lanes() {
  std::vector<Lane*>& ready = table_.ready();
  while (!ready.empty()) {
    Lane& lane = *ready.back();
    ready.pop_back();
    TrackedProcess& process = *lane.process;
    if (!lane.is_ring) {
      const auto& notes = static_cast<NoteLane&>(lane);
      if (!notes.notes.empty()) heap_.push(notes.key(), lane);
      continue;
    }
    RingReader& reader = static_cast<RingLane&>(lane).reader;
    if (reader.load()) {
      heap_.push(reader.key(), lane);
    } else {
      process.limit = std::min(process.limit, reader.bound());
      if (reader.exhausted()) table_.settle(process);
    }
  }
}

bool RecordMerger::merge(EventBatch& out, std::size_t max_events) {
  sink_.bind(out, max_events);
  while (!heap_.empty() && !sink_.full()) {
    const auto [key, lane] = heap_.top();
    TrackedProcess& process = *lane->process;
    if (lane->is_ring) {
      if (key >= limit_key(process.limit)) {
        heap_.pop();  // held back till the next sweep
      } else {
        run_ring(static_cast<RingLane&>(*lane));
      }
      continue;
    }
    auto& notes = static_cast<NoteLane&>(*lane);
    const bool waits = !process.born && process.birth_host != &process;
    if (notes.notes.empty() || process.gone || waits || notes.key() >= limit_key(process.limit)) {
      heap_.pop();
    } else if (notes.key() != key) {
      heap_.replace_top(notes.key());  // something was put in front of it or taken away
    } else {
      take_note(notes);
    }
  }
  release_rings();
  table_.wake_claimers();
  return !heap_.empty() || sink_.keeps();
}

/// Takes records of one ring as long as they come before all others.
void RecordMerger::run_ring(RingLane& lane) {
  TrackedProcess& process = *lane.process;
  RingReader& reader = lane.reader;
  const std::uint64_t stop = std::min(heap_.second_key(), limit_key(process.limit));
  const std::uint64_t before = reader.consumed_slots();
  bool more = true;
  do {
    translator_.take(lane);
    reader.pop();
    more = reader.load();
  } while (more && reader.key() < stop && !sink_.full());
  taken_ += reader.consumed_slots() - before;
  process.active = true;
  if (more) {
    heap_.replace_top(reader.key());
    reader.release(false);
    return;
  }
  heap_.pop();
  reader.release(true);
  process.limit = std::min(process.limit, reader.bound());
  if (reader.exhausted()) {
    table_.settle(process);
    start_ready_lanes();
  }
}

void RecordMerger::take_note(NoteLane& lane) {
  Note note = std::move(lane.notes.front());
  lane.notes.pop_front();
  if (lane.notes.empty()) {
    heap_.pop();
  } else {
    heap_.replace_top(lane.key());
  }
  TrackedProcess& process = *lane.process;
  switch (note.kind) {
    case NoteKind::kEvent:
      if (note.event.kind == EventKind::kMapping) {
        translator_.tell_mapping(process, note.ticks, note.event, note.path);
      } else {
        translator_.tell(process, note.ticks, note.event);
      }
      return;
    case NoteKind::kBirth: {
      TrackedImage& image = *note.child->images.front();
      Event fork = process_event(EventKind::kFork, note.child->pid);
      fork.fork.parent_pid = image.parent_pid;
      translator_.tell(*note.child, note.ticks, fork);
      if (image.origin == MT_ORIGIN_EXEC) {
        translator_.tell(*note.child, note.ticks, process_event(EventKind::kExec, note.child->pid));
      }
      table_.born(*note.child, process);
      break;
    }
    case NoteKind::kExec:
      translator_.tell(process, note.ticks, process_event(EventKind::kExec, process.pid));
      process.mappings.clear();
      if (note.image != nullptr) table_.image_begins(process, *note.image);
      break;
    case NoteKind::kExit:
      translator_.tell(process, note.ticks, process_event(EventKind::kExit, process.pid));
      root_gone_ = root_gone_ || process.root;
      table_.exited(process);
      break;
  }
  start_ready_lanes();
}

void RecordMerger::release_rings() {
  for (const auto& lane : table_.lanes()) {
    if (lane) lane->reader.release(false);
  }
}

/// Old cuts matter only as long as a record of before them may come.
void RecordMerger::forget_cuts() {
  if (cuts_.count() < 2) return;
  std::uint64_t oldest = low_water_;
  for (const auto& lane : table_.lanes()) {
    if (!lane) continue;
    const RingReader& reader = lane->reader;
    if (reader.holds_before(UINT64_MAX)) oldest = std::min(oldest, reader.oldest_ticks());
  }
  cuts_.forget_before(oldest);
}

void RecordMerger::set_enabled(bool enabled) {
  if (enabled) cuts_.cut(time_.ticks(), true);
  __atomic_store_n(&segment_.header->enabled, enabled ? 1u : 0u, __ATOMIC_SEQ_CST);
  if (!enabled) cuts_.cut(time_.ticks(), false);
}

void RecordMerger::begin_drain() {
  const Anchor now = time_.anchor();
  drain_ticks_ = now.ticks;
  drain_ns_ = now.ns;
  drain_sweep_ = sweeps_ + 1;
}

bool RecordMerger::drain_reached() const {
  if (sweeps_ < drain_sweep_) return false;
  if (now_ns_ - drain_ns_ > kDrainHoldNs && now_ns_ > drain_ns_) return true;
  return std::none_of(table_.lanes().begin(), table_.lanes().end(),
                      [&](const auto& lane) { return lane && lane->reader.holds_before(drain_ticks_); });
}

std::vector<RecordMerger::Survivor> RecordMerger::survivors() const {
  std::vector<Survivor> found;
  for (const auto& process : table_.processes()) {
    if (!process->ended && !process->watch->ended_now()) found.push_back({process->pid, probe_.name(process->pid)});
  }
  return found;
}

void RecordMerger::wake_all() {
  for (std::uint32_t ring = 0; ring < segment_.layout.ring_count; ++ring) {
    std::uint32_t* const wanted = &segment_.rings[ring].room_wanted;
    if (__atomic_exchange_n(wanted, 0u, __ATOMIC_SEQ_CST) != 0) futex_wake(wanted);
  }
  __atomic_fetch_add(&segment_.header->free_waiters, 1u, __ATOMIC_SEQ_CST);
  futex_wake(&segment_.header->free_waiters);
}

}  // namespace memtrack::preload
