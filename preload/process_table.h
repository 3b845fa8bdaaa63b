// ProcessTable: which processes, images and rings there are, and what becomes of them.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/loss.h"
#include "preload/process_probe.h"
#include "preload/segment.h"
#include "preload/time_source.h"
#include "preload/tracked_process.h"
#include "preload/untracked_programs.h"

namespace memtrack::preload {

/// Follows the life of processes from what the shim writes into the segment and from what the kernel says.
///
/// Rules: a process is born by a Fork event, which waits for its parent's records of before (for kBirthHoldNs at most);
/// the root needs none. An image is given after the last record of the one before; an Exit after the last record of
/// all. Rings and images go back to the segment when they are drained.
/// Use: begin_sweep(), a barrier, scan(), then settle() for each process; settle() again whenever a lane of it ran dry.
/// Lanes that may be merged from now on are in ready(), which the caller empties.
/// Bounds: what the segment's tables can hold at once. Threads: one.
class ProcessTable {
 public:
  static constexpr std::uint64_t kBirthHoldNs = 200'000'000;

  ProcessTable(const SegmentView& segment, TimeSource& time, ProcessProbe& probe);

  /// The process that we started; it is there before its first image.
  void expect_root(std::int32_t pid);

  /// Notes who has ended; counts the sweep. `now`: this moment.
  void begin_sweep(const Anchor& now);
  /// Looks at all rings and images. `low_water`: a stamp of before the barrier.
  void scan(std::uint64_t low_water);
  /// From the next scan on all that is published is taken as all there will be.
  void finish() { forced_ = true; }
  /// False where scan() would find nothing.
  [[nodiscard]] bool has_news() const;

  void settle(TrackedProcess& process);
  [[nodiscard]] std::vector<Lane*>& ready() { return ready_; }

  /// A note about the process was given.
  void born(TrackedProcess& child, TrackedProcess& host);
  void image_begins(TrackedProcess& process, TrackedImage& image);
  void exited(TrackedProcess& process);

  [[nodiscard]] const std::vector<std::unique_ptr<TrackedProcess>>& processes() const { return processes_; }
  [[nodiscard]] TrackedProcess* find(std::int32_t pid) const;
  /// By ring, as many as were ever claimed; null where one is not in use.
  [[nodiscard]] const std::vector<std::unique_ptr<RingLane>>& lanes() const { return lanes_; }
  /// Processes whose image came since the last call.
  [[nodiscard]] std::vector<TrackedProcess*> take_new() { return std::exchange(new_, {}); }
  [[nodiscard]] LossCounters losses() const;
  /// What is known of programs that never attached. To be asked at the end.
  [[nodiscard]] std::vector<std::string> untracked_notes() { return untracked_.notes(); }
  /// Wakes threads that wait for a ring or an image, if any was freed since the last call.
  void wake_claimers();

 private:
  [[nodiscard]] std::uint32_t ring_end() const;
  [[nodiscard]] std::uint32_t image_end() const;
  void grow();
  void find_dead_threads();
  void look_at_ring(std::uint32_t ring, std::uint64_t low_water);
  void adopt_ring(std::uint32_t ring);
  void adopt_images();
  void adopt_image(std::uint32_t index);
  [[nodiscard]] bool takes_over(const TrackedProcess& old, const mt_image& image);
  TrackedProcess& create(std::int32_t pid, std::uint64_t ticks);
  void end(TrackedProcess& process, std::uint64_t sweep);
  void place_birth(TrackedProcess& child);
  void release_birth(TrackedProcess& child);
  void finalize();
  void recycle(RingLane& lane);
  void recycle(TrackedImage& image);

  SegmentView segment_;
  TimeSource& time_;
  ProcessProbe& probe_;
  std::vector<std::unique_ptr<TrackedProcess>> processes_;
  std::vector<std::unique_ptr<TrackedProcess>> gone_;  // until the next sweep: the merge may still name them
  std::vector<std::unique_ptr<RingLane>> lanes_;
  std::vector<std::unique_ptr<RingLane>> dry_;  // likewise until the next sweep
  std::vector<std::unique_ptr<TrackedImage>> old_images_;
  struct ImageSlot {
    TrackedProcess* process = nullptr;
    TrackedImage* image = nullptr;
  };
  std::vector<ImageSlot> images_;    // by index
  std::vector<bool> refused_rings_;  // live, but of no image that we know
  std::vector<bool> refused_images_;
  std::unordered_map<std::int32_t, TrackedProcess*> by_pid_;
  std::vector<Lane*> ready_;
  std::vector<TrackedProcess*> new_;
  UntrackedPrograms untracked_;
  LossCounters recycled_losses_;
  std::uint64_t sweep_ = 0;
  Anchor now_;
  std::uint64_t low_water_ = 0;
  std::uint32_t free_rings_ = 0;
  std::uint32_t lowest_freed_ring_ = UINT32_MAX;
  std::uint32_t lowest_freed_image_ = UINT32_MAX;
  std::uint64_t thread_check_ns_ = 0;
  bool forced_ = false;
};

}  // namespace memtrack::preload
