#include "preload/enable_cuts.h"

#include <algorithm>

namespace memtrack::preload {

void EnableCuts::cut(std::uint64_t ticks, bool on) {
  if (cuts_.back().on == on) return;
  cuts_.push_back({std::max(ticks, cuts_.back().ticks), on});
  find(ticks);
}

void EnableCuts::find(std::uint64_t ticks) {
  const auto after = std::upper_bound(cuts_.begin(), cuts_.end(), ticks,
                                      [](std::uint64_t value, const Cut& cut) { return value < cut.ticks; });
  const auto current = after == cuts_.begin() ? after : after - 1;
  const auto next = current + 1;
  piece_start_ = current == cuts_.begin() ? 0 : current->ticks;
  piece_length_ = (next == cuts_.end() ? UINT64_MAX : next->ticks) - piece_start_;
  piece_on_ = current->on;
}

void EnableCuts::forget_before(std::uint64_t ticks) {
  while (cuts_.size() > 1 && cuts_[1].ticks <= ticks) cuts_.erase(cuts_.begin());
  find(ticks);
}

}  // namespace memtrack::preload
