#include "preload/tick_clock.h"

#include <algorithm>

namespace memtrack::preload {

void TickClock::add(const Anchor& anchor) {
  if (!anchors_.empty() && (anchor.ticks <= anchors_.back().ticks || anchor.ns <= anchors_.back().ns)) return;
  const std::size_t count = anchors_.size();
  if (count >= 2 && anchor.ns - anchors_[count - 2].ns < kSpacingNs) {
    anchors_.back() = anchor;
  } else {
    anchors_.push_back(anchor);
  }
  if (anchors_.size() > kMaxAnchors) thin_out();
  piece_length_ = 0;
}

void TickClock::thin_out() {
  std::deque<Anchor> kept;
  const std::size_t half = anchors_.size() / 2;
  for (std::size_t i = 0; i < anchors_.size(); ++i) {
    if (i == 0 || i >= half || i % 2 == 1) kept.push_back(anchors_[i]);
  }
  anchors_ = std::move(kept);
}

void TickClock::set_piece(const Anchor& from, const Anchor& to) {
  piece_ticks_ = from.ticks;
  piece_length_ = to.ticks - from.ticks;
  piece_ns_ = from.ns;
  piece_slope_ = static_cast<std::uint64_t>((static_cast<Wide>(to.ns - from.ns) << kShift) / piece_length_);
}

/// Makes the piece that holds `ticks` the current one; at both ends a piece of its own, so that to_ns needs no test.
void TickClock::find_piece(std::uint64_t ticks) {
  piece_slope_ = 0;
  piece_ticks_ = ticks;
  piece_length_ = 0;
  piece_ns_ = 0;
  if (anchors_.empty()) return;
  if (ticks >= anchors_.back().ticks) {
    piece_ns_ = anchors_.back().ns;
    return;
  }
  if (ticks < anchors_.front().ticks) {
    piece_ns_ = anchors_.front().ns;
    if (anchors_.size() < 2) return;
    set_piece(anchors_[0], anchors_[1]);
    const std::uint64_t before =
        static_cast<std::uint64_t>((static_cast<Wide>(piece_ticks_ - ticks) * piece_slope_) >> kShift);
    piece_ns_ -= std::min(before, piece_ns_);
    piece_ticks_ = ticks;
    piece_length_ = 0;
    return;
  }
  const auto after = std::upper_bound(anchors_.begin(), anchors_.end(), ticks,
                                      [](std::uint64_t value, const Anchor& anchor) { return value < anchor.ticks; });
  set_piece(*(after - 1), *after);
}

}  // namespace memtrack::preload
