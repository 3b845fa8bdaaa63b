// The tracker's side of the shared segment, as small as it can be: makes a segment, drains rings, frees what is dead.
// For tests of the shim alone; what it collects is only looked at after the run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "preload/shared_segment.h"

namespace memtrack::test {

struct HarnessOptions {
  std::uint32_t image_count = 512;
  std::uint32_t ring_count = 64;
  std::uint32_t ring_slots = 4096;
  mt_on_full on_full = MT_ON_FULL_BLOCK;
  mt_clock clock = MT_CLOCK_TSC;
  bool enabled = true;
};

/// One use of a ring: what one thread wrote between claiming and losing it.
struct RingStream {
  mt_image image{};  ///< of the thread's process
  std::int32_t tid = 0;
  std::vector<mt_record> slots;
  std::array<std::uint64_t, MT_LOSS_COUNT> lost{};
};

/// A notice as it was copied.
struct SeenNotice {
  mt_notice_kind kind = MT_NOTICE_EXEC;
  std::int32_t writer = 0;
  std::int32_t pid = 0;
  std::uint64_t ticks = 0;
  std::uint32_t flags = 0;
  std::string path;
};

struct RunResult {
  int wait_status = 0;
  std::string output;  ///< standard output of the root and its children
};

/// Not thread-safe. The segment's file is removed with it.
class SegmentHarness {
 public:
  explicit SegmentHarness(const HarnessOptions& options);
  ~SegmentHarness();
  SegmentHarness(const SegmentHarness&) = delete;
  SegmentHarness& operator=(const SegmentHarness&) = delete;

  /// Starts `command` under the shim at `shim_path`, drains until it ended and its output is closed.
  RunResult run(const std::vector<std::string>& command, const std::string& shim_path);
  /// Takes what is published now; frees rings that were released and rings and images whose owner is gone.
  void drain();

  [[nodiscard]] mt_segment& segment() { return *segment_; }
  [[nodiscard]] mt_ring& ring(std::uint32_t index) { return rings_[index]; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<RingStream>& streams() const { return streams_; }
  [[nodiscard]] const std::vector<mt_image>& images_seen() const { return images_seen_; }
  [[nodiscard]] const std::vector<SeenNotice>& notices_seen() const { return notices_seen_; }
  /// Of the segment and of all rings together.
  [[nodiscard]] std::array<std::uint64_t, MT_LOSS_COUNT> lost() const;

 private:
  void drain_ring(std::uint32_t index);
  void take_notices();
  void free_dead();
  void wake_claimers();

  HarnessOptions options_;
  std::string path_;
  int file_ = -1;  ///< locked, as a tracker keeps it
  std::uint64_t bytes_ = 0;
  mt_segment* segment_ = nullptr;
  mt_image* images_ = nullptr;
  mt_ring* rings_ = nullptr;
  mt_record* slots_ = nullptr;
  static constexpr std::size_t kNoStream = SIZE_MAX;
  std::vector<std::size_t> stream_of_ring_;
  std::vector<bool> image_noted_;
  std::vector<RingStream> streams_;
  std::vector<mt_image> images_seen_;
  std::vector<SeenNotice> notices_seen_;
};

/// A record with its continuation.
struct ParsedRecord {
  mt_record first{};
  mt_mapping_more mapping{};
  std::string path;
};
/// The records of a stream. An incomplete last one is left out.
[[nodiscard]] std::vector<ParsedRecord> parse_records(const std::vector<mt_record>& slots);

/// Merges the streams of one image by stamp and replays them. Empty if that is a possible history, else what is not.
/// A fork child may free blocks that it inherited.
[[nodiscard]] std::string find_impossible(const std::vector<RingStream>& streams, const mt_image& image);

}  // namespace memtrack::test
