// RecordMerger: the rings of all processes to one sequence of events, while they are being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/event_batch.h"
#include "codec/loss.h"
#include "preload/enable_cuts.h"
#include "preload/event_sink.h"
#include "preload/merge_heap.h"
#include "preload/process_table.h"
#include "preload/record_translator.h"
#include "preload/sampler.h"
#include "preload/segment.h"
#include "preload/tick_clock.h"
#include "preload/time_source.h"

namespace memtrack::preload {

/// Merges by stamp what the low-water marks allow (shared_segment.h, ORDER).
///
/// Use: sweep() looks at the rings; merge() gives what that made available, a batch at a time, until it says false;
/// then sweep() again.
/// Promises: within a process the order is a possible history; a process that is held back (stopped, within a long
/// realloc) holds back no other; hostile shared memory costs its own process's events and nothing else.
/// Bounds: one sweep gives at most what the rings held. Memory: the tables, not the events.
/// Threads: one. Ownership: segment, time and probe must outlive it.
class RecordMerger {
 public:
  struct Options {
    std::uint64_t rss_interval_ns = 100'000'000;
    bool start_enabled = true;
  };
  struct Survivor {
    std::int32_t pid = 0;
    std::string name;
  };

  RecordMerger(const SegmentView& segment, TimeSource& time, ProcessProbe& probe, const Options& options);

  void expect_root(std::int32_t pid) { table_.expect_root(pid); }
  /// Precondition: the last merge() said false.
  void sweep();
  /// Appends up to `max_events`. False: everything of the last sweep has been given.
  bool merge(EventBatch& out, std::size_t max_events);
  /// The next sweep takes all that is published, whatever may still come before it.
  void finish() { table_.finish(); }
  /// Whether a sweep would find something, samples that are due included. Cheap.
  [[nodiscard]] bool has_news();
  /// Nanoseconds until has_news() becomes true by itself.
  [[nodiscard]] std::uint64_t ns_to_next_sample();

  /// Allocation events are given from now on, or no more, by their stamps. Switches the shims, too.
  void set_enabled(bool enabled);
  /// Notes the present; reached() is true once all that was published by now has been given, or is held back for too
  /// long. To be asked when merge() said false.
  void begin_drain();
  [[nodiscard]] bool drain_reached() const;

  [[nodiscard]] bool root_gone() const { return root_gone_; }
  /// Every process that showed itself has ended and was told of.
  [[nodiscard]] bool all_gone() const { return table_.processes().empty(); }
  [[nodiscard]] bool root_was_seen() const { return root_had_image_; }
  /// Those that are still there, with their names.
  [[nodiscard]] std::vector<Survivor> survivors() const;
  [[nodiscard]] LossCounters losses() const { return table_.losses(); }
  [[nodiscard]] std::vector<std::string> untracked_notes() { return table_.untracked_notes(); }
  /// Slots that the last sweep and the merge after it took: how busy the rings are.
  [[nodiscard]] std::uint64_t last_taken() const { return taken_; }
  /// Wakes all that wait for room or a ring.
  void wake_all();

 private:
  static constexpr std::uint64_t kDrainHoldNs = 1'000'000'000;

  void sample(const Anchor& now);
  void start_ready_lanes();
  void run_ring(RingLane& lane);
  void take_note(NoteLane& lane);
  void release_rings();
  void forget_cuts();

  SegmentView segment_;
  TimeSource& time_;
  ProcessProbe& probe_;
  TickClock clock_;
  EnableCuts cuts_;
  EventSink sink_;
  RecordTranslator translator_;
  Sampler sampler_;
  ProcessTable table_;
  MergeHeap heap_;
  std::uint64_t low_water_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t sweeps_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t drain_sweep_ = 0;
  std::uint64_t drain_ticks_ = 0;
  std::uint64_t drain_ns_ = 0;
  bool root_gone_ = false;
  bool root_had_image_ = false;
};

}  // namespace memtrack::preload
