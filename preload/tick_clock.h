// TickClock: raw stamps (TSC) to nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace memtrack::preload {

/// The same moment in both clocks.
struct Anchor {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
};

/// Interpolates between anchors that are taken while the capture runs, so that neither a drift of the clocks nor a
/// wrong guess of the frequency adds up.
///
/// Promises: a stamp between two anchors gets a time between theirs; a larger stamp never gets an earlier time as long
/// as no anchor comes in between; a stamp after the last anchor gets the last anchor's time (take an anchor after the
/// stamps were made). Bounds: kMaxAnchors; of old ones every other is dropped.
class TickClock {
 public:
  static constexpr std::size_t kMaxAnchors = 1024;
  static constexpr std::uint64_t kSpacingNs = 10'000'000;  ///< anchors closer than this replace each other

  /// Both clocks must have gone on since the last one; else it is ignored.
  void add(const Anchor& anchor);
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) {
    if (ticks - piece_ticks_ >= piece_length_) find_piece(ticks);
    return piece_ns_ + static_cast<std::uint64_t>((static_cast<Wide>(ticks - piece_ticks_) * piece_slope_) >> kShift);
  }
  [[nodiscard]] std::size_t anchor_count() const { return anchors_.size(); }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr unsigned kShift = 40;

  void find_piece(std::uint64_t ticks);
  void set_piece(const Anchor& from, const Anchor& to);
  void thin_out();

  std::deque<Anchor> anchors_;
  // The piece that the last stamp was in: ns = piece_ns_ + (ticks - piece_ticks_) * piece_slope_ / 2^kShift.
  std::uint64_t piece_ticks_ = 0;
  std::uint64_t piece_length_ = 0;
  std::uint64_t piece_ns_ = 0;
  std::uint64_t piece_slope_ = 0;
};

}  // namespace memtrack::preload
