// EnableCuts: at which stamps tracking was on.
#pragma once

#include <cstdint>
#include <vector>

namespace memtrack::preload {

/// Promises: on(t) is the state that the last cut at or before t set. Bounds: one entry a cut; forget_before() drops
/// those that no stamp asks for any more.
class EnableCuts {
 public:
  explicit EnableCuts(bool initially) : cuts_{{0, initially}} { find(0); }

  /// From `ticks` on. Not before the last cut.
  void cut(std::uint64_t ticks, bool on);
  [[nodiscard]] bool on(std::uint64_t ticks) {
    if (ticks - piece_start_ >= piece_length_) find(ticks);
    return piece_on_;
  }
  /// No stamp below `ticks` will be asked for.
  void forget_before(std::uint64_t ticks);
  [[nodiscard]] std::size_t count() const { return cuts_.size(); }

 private:
  struct Cut {
    std::uint64_t ticks;
    bool on;
  };
  void find(std::uint64_t ticks);

  std::vector<Cut> cuts_;  // by ticks; the first one holds for all before
  std::uint64_t piece_start_ = 0;
  std::uint64_t piece_length_ = 0;
  bool piece_on_ = true;
};

}  // namespace memtrack::preload
