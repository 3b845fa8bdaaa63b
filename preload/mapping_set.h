// MappingSet: which file is mapped where in an image, as far as it has been told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace memtrack::preload {

/// Keeps Mapping events that come both from the shim and from /proc/PID/maps from being told twice, and lets them be
/// told again where another file was in that place meanwhile.
/// Bounds: kMaxMappings; then it forgets all and mappings are told once more.
class MappingSet {
 public:
  static constexpr std::size_t kMaxMappings = 16'384;
  struct Place {
    std::uint64_t len = 0;
    std::uint64_t ino = 0;
    std::uint64_t file_offset = 0;
    bool operator==(const Place&) const = default;
  };

  /// True where this is news. What it overlaps is forgotten.
  bool add(std::uint64_t start, const Place& place) {
    const std::uint64_t end = start + place.len < start ? UINT64_MAX : start + place.len;
    auto at = places_.lower_bound(start);
    if (at != places_.end() && at->first == start && at->second == place) return false;
    if (at != places_.begin()) {
      const auto before = std::prev(at);
      if (before->first + before->second.len > start) at = before;
    }
    while (at != places_.end() && at->first < end) at = places_.erase(at);
    if (places_.size() >= kMaxMappings) places_.clear();
    places_.emplace(start, place);
    return true;
  }
  [[nodiscard]] bool has(std::uint64_t start, const Place& place) const {
    const auto at = places_.find(start);
    return at != places_.end() && at->second == place;
  }
  void clear() { places_.clear(); }
  [[nodiscard]] std::size_t size() const { return places_.size(); }

 private:
  std::map<std::uint64_t, Place> places_;
};

}  // namespace memtrack::preload
