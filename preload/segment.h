// The tracker's side of the shared segment: its layout, and the file that it lives in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/error.h"
#include "preload/shared_segment.h"

namespace memtrack::preload {

/// Where the parts of a segment are. The tracker's own copy, never read back from shared memory.
struct SegmentLayout {
  std::uint64_t bytes = 0;
  std::uint64_t images_offset = 0;
  std::uint64_t rings_offset = 0;
  std::uint64_t data_offset = 0;
  std::uint32_t image_count = 0;
  std::uint32_t ring_count = 0;
  std::uint32_t ring_slots = 0;
};

/// As many rings of `ring_bytes` as fit beside the tables into `segment_bytes`, 65,536 at most. kInvalidArgument, with
/// the setting's name, where none does or a ring's size is no power of two of at least 4 KiB.
[[nodiscard]] Result<SegmentLayout> plan_segment(std::uint64_t segment_bytes, std::uint64_t ring_bytes);

/// A segment in memory; owns nothing.
struct SegmentView {
  mt_segment* header = nullptr;
  mt_image* images = nullptr;
  mt_ring* rings = nullptr;
  std::uint64_t* data = nullptr;
  SegmentLayout layout = {};

  static constexpr std::size_t kWordsPerSlot = MT_SLOT_BYTES / sizeof(std::uint64_t);
  /// First slot of a ring.
  [[nodiscard]] std::uint64_t* slots(std::uint32_t ring) const {
    return data + std::uint64_t{ring} * layout.ring_slots * kWordsPerSlot;
  }
};

struct SegmentSettings {
  mt_clock clock = MT_CLOCK_MONOTONIC;
  mt_on_full on_full = MT_ON_FULL_BLOCK;
  bool enabled = true;
  std::int32_t tracker_pid = 0;
  std::uint64_t tracker_start_time = 0;
};

/// Writes the header of a segment into zeroed, page-aligned memory of `layout.bytes`.
[[nodiscard]] SegmentView format_segment(void* memory, const SegmentLayout& layout, const SegmentSettings& settings);

/// A segment of ours under /dev/shm, mode 0600, with a random name; the file goes with this object.
///
/// The file stays locked (flock) for this object's life, which tells a live session from a stale one even across pid
/// namespaces. Errors: kIo, kLimitExceeded where /dev/shm has too little room.
class Segment {
 public:
  [[nodiscard]] static Result<Segment> create(const SegmentLayout& layout, const SegmentSettings& settings);
  Segment(Segment&&) noexcept;
  Segment& operator=(Segment&&) noexcept;
  ~Segment();

  [[nodiscard]] const SegmentView& view() const;
  /// For MT_SEGMENT_ENV.
  [[nodiscard]] const std::string& path() const;

 private:
  struct State;
  explicit Segment(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Removes the segments in `directory` that belong to this user and whose tracker is gone. Returns how many. What it
/// does not understand stays.
std::size_t remove_stale_segments(const std::string& directory = "/dev/shm");

}  // namespace memtrack::preload
